package skim

import (
	"bytes"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Pods returns codecs of which the one for protobuf skims single pods, as in the events of a watch. It is for a client
// that reads pods: the pods that it decodes must not be written back.
func Pods(codecs runtime.NegotiatedSerializer) runtime.NegotiatedSerializer { return skimming{codecs} }

type skimming struct{ runtime.NegotiatedSerializer }

func (s skimming) SupportedMediaTypes() []runtime.SerializerInfo {
	infos := slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes())
	for i := range infos {
		if infos[i].MediaType != runtime.ContentTypeProtobuf {
			continue
		}
		infos[i].Serializer = objects{infos[i].Serializer}
		if stream := infos[i].StreamSerializer; stream != nil {
			of := *stream
			of.Serializer = events{of.Serializer}
			infos[i].StreamSerializer = &of
		}
	}
	return infos
}

// objects decodes objects; pods without the fields that nobody needs.
type objects struct{ runtime.Serializer }

func (o objects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into == nil {
		if pod := skimmed(data); pod != nil {
			kind := corev1.SchemeGroupVersion.WithKind("Pod")
			return pod, &kind, nil
		}
	}
	return o.Serializer.Decode(data, defaults, into)
}

// buffers have the kept fields of one pod each.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keepBuffer bounds the buffers that are used again: 64 KB, of which a usual pod takes one or two.
const keepBuffer = 64 << 10

// skimmed decodes a pod. It returns nil if data is not a pod, or cannot be read.
func skimmed(data []byte) *corev1.Pod {
	raw, ok := rawPod(data)
	if !ok {
		return nil
	}
	buffer := buffers.Get().(*[]byte)
	kept, err := podFields.appendKept((*buffer)[:0], raw)
	pod := &corev1.Pod{}
	if err == nil {
		err = pod.Unmarshal(kept) // copies what it keeps
	}
	if cap(kept) <= keepBuffer {
		*buffer = kept
		buffers.Put(buffer)
	}
	if err != nil {
		return nil
	}
	return pod
}

// The API's own prefix of protobuf, and the metadata of a pod's type in the message runtime.Unknown.
var (
	prefix  = []byte{'k', '8', 's', 0}
	podType = []byte("\x0a\x02v1\x12\x03Pod")
)

// rawPod returns the message of a pod, out of the message runtime.Unknown. It reports false for any other object.
func rawPod(data []byte) (raw []byte, ok bool) {
	data, ok = bytes.CutPrefix(data, prefix)
	if !ok {
		return nil, false
	}
	isPod := false
	err := eachText(data, func(number protowire.Number, value []byte) {
		switch number {
		case 1: // typeMeta
			isPod = bytes.Equal(value, podType)
		case 2:
			raw = value
		default: // contentEncoding and contentType, which pods come without
			ok = ok && len(value) == 0
		}
	})
	return raw, ok && isPod && raw != nil && err == nil
}

// events decodes the frames of a watch. The object of an event shares the bytes of the frame, which the watch decodes
// before it reads the next frame.
type events struct{ runtime.Serializer }

func (e events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if ok && readEvent(event, data) == nil {
		kind := metav1.Unversioned.WithKind("WatchEvent")
		return event, &kind, nil
	}
	return e.Serializer.Decode(data, defaults, into)
}

// readEvent reads a metav1.WatchEvent without copying its object.
func readEvent(event *metav1.WatchEvent, data []byte) error {
	*event = metav1.WatchEvent{}
	var object error
	err := eachText(data, func(number protowire.Number, value []byte) {
		switch number {
		case 1:
			event.Type = eventType(value)
		case 2: // a runtime.RawExtension
			failed := eachText(value, func(number protowire.Number, raw []byte) {
				if number == 1 {
					event.Object.Raw = slices.Clip(raw)
				}
			})
			if object == nil {
				object = failed
			}
		}
	})
	if err != nil {
		return err
	}
	return object
}

// eventType returns the type of an event, for the usual ones without an allocation.
func eventType(text []byte) string {
	for _, known := range []watch.EventType{watch.Modified, watch.Added, watch.Deleted, watch.Bookmark} {
		if string(text) == string(known) {
			return string(known)
		}
	}
	return string(text)
}

// eachText calls see with each field of a message all of whose fields are texts, bytes or messages.
func eachText(data []byte, see func(protowire.Number, []byte)) error {
	for len(data) > 0 {
		number, form, tag := protowire.ConsumeTag(data)
		if tag < 0 || form != protowire.BytesType {
			return errMalformed
		}
		value, n := protowire.ConsumeBytes(data[tag:])
		if n < 0 {
			return errMalformed
		}
		see(number, value)
		data = data[tag+n:]
	}
	return nil
}
