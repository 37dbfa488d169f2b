package ingest

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/kubevoltracker/kubevoltracker/collector/fact"
)

// randomise sets a value, and all that is in it, to random ones; lists and maps get up to
// rows elements.
func randomise(random *rand.Rand, v reflect.Value, rows int) {
	switch v.Kind() {
	case reflect.String:
		letters := []string{"", "a", "pvc-", "é", "→", "\x00", "\xff", "10Gi", strings.Repeat("long ", 100)}
		v.SetString(letters[random.IntN(len(letters))] + letters[random.IntN(len(letters))])
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(random.Uint64()) >> random.IntN(64))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(random.Uint64() >> random.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(random.NormFloat64())
	case reflect.Slice:
		n := random.IntN(rows + 1)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			randomise(random, v.Index(i), 3)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range random.IntN(rows + 1) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			randomise(random, key, 3)
			randomise(random, value, 3)
			v.SetMapIndex(key, value)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		randomise(random, v.Elem(), rows)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("cbor") != "-" { // the others are not encoded
				randomise(random, v.Field(i), rows)
			}
		}
	default:
		panic("a field of kind " + v.Kind().String() + " is new: say how to fill it")
	}
}

// normalise turns what is empty into nil.
func normalise(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			normalise(v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				normalise(v.Field(i))
			}
		}
	}
}

func TestFactsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		var want, got fact.Facts
		tables := reflect.ValueOf(&want).Elem()
		for i := range tables.NumField() {
			if random.IntN(3) > 0 {
				randomise(random, tables.Field(i), int(seed/5))
			}
		}
		data, err := encodeFacts(&want, new(bytes.Buffer))
		if err != nil {
			t.Fatal(err)
		}
		if err := decodeFacts(data, &got); err != nil {
			t.Fatal(err)
		}
		normalise(reflect.ValueOf(&want).Elem())
		normalise(reflect.ValueOf(&got).Elem())
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d:\nwant %+v\ngot  %+v", seed, want, got)
		}
	}
}

func TestFactsOfManyRowsComeBack(t *testing.T) {
	t.Parallel()
	want := fact.Facts{Checkpoints: make([]fact.Checkpoint, 1<<17+1)} // more than CBOR takes by itself
	data, err := encodeFacts(&want, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	var got fact.Facts
	if err := decodeFacts(data, &got); err != nil || len(got.Checkpoints) != len(want.Checkpoints) {
		t.Fatal(len(got.Checkpoints), err)
	}
}

func TestNoFactsAreNoBytes(t *testing.T) {
	t.Parallel()
	data, err := encodeFacts(&fact.Facts{Volumes: []fact.Volume{}}, new(bytes.Buffer))
	if err != nil || len(data) != 0 {
		t.Errorf("%v, %v", data, err)
	}
	var facts fact.Facts
	if err := decodeFacts(data, &facts); err != nil || facts.Len() != 0 {
		t.Error(err)
	}
}

// TestFactsOfAnotherVersionAreRead encodes tables and fields that this program does
// not have, and leaves out some that it has.
func TestFactsOfAnotherVersionAreRead(t *testing.T) {
	t.Parallel()
	type volume struct {
		UID     string
		Shape   []map[string]int
		Version uint64
	}
	c, err := theCodec()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := c.encode.Marshal(struct {
		Snapshots []volume
		Volumes   []volume
	}{[]volume{{UID: "new"}}, []volume{{UID: "uid", Shape: []map[string]int{{"sides": 4}}, Version: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	var facts fact.Facts
	if err := decodeFacts(c.pack.EncodeAll(plain, []byte{factsForm}), &facts); err != nil {
		t.Fatal(err)
	}
	if want := (fact.Facts{Volumes: []fact.Volume{{UID: "uid", Version: 7}}}); !reflect.DeepEqual(facts, want) {
		t.Errorf("%+v", facts)
	}
	if err := decodeFacts([]byte{protobufForm + 1, 0}, &facts); err == nil || !strings.Contains(err.Error(), "later version") {
		t.Error(err)
	}
	for _, data := range [][]byte{{factsForm}, {factsForm, 1, 2, 3}, c.pack.EncodeAll([]byte("no CBOR"), []byte{factsForm})} {
		if err := decodeFacts(data, &facts); err == nil {
			t.Errorf("%x was decoded", data)
		}
	}
}

// A program that knows objects as JSON only must put a batch aside that has them as protobuf.
func TestObjectsInProtobufHaveAFormOfTheirOwn(t *testing.T) {
	for form, o := range map[byte]fact.Object{factsForm: {UID: "1", Object: "{}"}, protobufForm: {UID: "1", Wire: []byte("x")}} {
		data, err := encodeFacts(&fact.Facts{Objects: []fact.Object{o}}, new(bytes.Buffer))
		if err != nil || data[0] != form {
			t.Errorf("%+v is encoded in form %d, %v", o, data[0], err)
		}
		var back fact.Facts
		if err := decodeFacts(data, &back); err != nil || !reflect.DeepEqual(back.Objects, []fact.Object{o}) {
			t.Errorf("%+v comes back as %+v, %v", o, back.Objects, err)
		}
	}
}
