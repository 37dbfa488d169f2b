package journal

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// model is what a journal must hold.
type model struct {
	state  map[string]string
	facts  map[uint64]string
	last   uint64
	random *rand.Rand
}

func newModel(seed uint64) *model {
	return &model{state: map[string]string{}, facts: map[uint64]string{}, random: rand.New(rand.NewPCG(seed, 1))}
}

// batch is a random one, which the model then holds too.
func (m *model) batch() Batch {
	b := Batch{Positions: []Position{{Kind: "Pod", ResourceVersion: fmt.Sprint(m.random.Uint32())}}}
	for range m.random.IntN(40) {
		r := Record{Kind: []string{"Pod", "PersistentVolume"}[m.random.IntN(2)], UID: fmt.Sprint(m.random.IntN(700))}
		if m.random.IntN(3) > 0 {
			r.Data = m.bytes(m.random.IntN(900))
			m.state[r.Kind+"/"+r.UID] = string(r.Data)
		} else {
			delete(m.state, r.Kind+"/"+r.UID)
		}
		b.State = append(b.State, r)
	}
	if m.random.IntN(4) > 0 {
		b.Facts = m.bytes(1 + m.random.IntN([]int{100, 5000, 30_000}[m.random.IntN(3)]))
		b.Rows = len(b.Facts)/100 + 1
		m.last++
		m.facts[m.last] = string(b.Facts)
	}
	return b
}

func (m *model) bytes(n int) []byte {
	data := make([]byte, 0, n+8)
	for len(data) < n {
		data = binary.LittleEndian.AppendUint64(data, m.random.Uint64())
	}
	return data[:n]
}

func (m *model) acknowledge(number uint64) {
	maps.DeleteFunc(m.facts, func(n uint64, _ string) bool { return n <= number })
}

// unfinished commits some batches of a commit, and not its last one. Their facts stay, and their state goes when the journal is opened again.
func (m *model) unfinished(t *testing.T, j *Journal) {
	t.Helper()
	before := maps.Clone(m.state)
	for range m.random.IntN(4) {
		b := m.batch()
		b.Positions, b.More = nil, true
		commit(t, j, b)
	}
	m.state = before
}

// holds fails the test if the journal does not hold what the model does.
func (m *model) holds(t *testing.T, j *Journal) {
	t.Helper()
	if got := state(t, j); !maps.Equal(got, m.state) {
		t.Fatalf("%d records of state, want %d", len(got), len(m.state))
	}
	facts := map[uint64]string{}
	for _, e := range drain(t, j, 0) {
		facts[e.Number] = string(e.Facts)
	}
	if !maps.Equal(facts, m.facts) {
		t.Fatalf("%d batches of facts, want %d", len(facts), len(m.facts))
	}
}

func TestAnyHistoryIsFoundWholeAndRight(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := newModel(seed)
			j := open(t, filepath.Join(t.TempDir(), "journal"))
			for i := range 75 {
				b := m.batch()
				b.More = i%25 != 24 && m.random.IntN(3) == 0
				commit(t, j, b)
				if m.random.IntN(3) == 0 && m.last > 0 {
					n := m.last - min(m.last, uint64(m.random.IntN(20)))
					if err := j.Acknowledge(n); err != nil {
						t.Fatal(err)
					}
					m.acknowledge(n)
				}
				if i%10 == 0 {
					if err := j.check(); err != nil {
						t.Fatal(err)
					}
				}
				if i%25 == 24 {
					m.holds(t, j)
					m.unfinished(t, j)
					if j = reopen(t, j); j.Origin() != Resumed {
						t.Fatal(j.Origin())
					}
					m.holds(t, j)
				}
			}
		})
	}
}
