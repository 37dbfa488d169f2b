package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// The layout of a bbolt file, version 2: numbers are in the machine's byte order.
// See go.etcd.io/bbolt/internal/common, which cannot be imported.
const (
	pageSize      = 4096
	pageHeader    = 16 // id 8, flags 2, count 2, overflow 4
	elementHeader = 16 // leaf: flags, position, key, value 4 each; branch: position, key 4 each, page 8
	metaBytes     = 64 // up to and with its checksum
	bucketHeader  = 16 // root page 8, sequence 8

	branchFlag   = 0x01
	leafFlag     = 0x02
	metaFlag     = 0x04
	freelistFlag = 0x10
	bucketFlag   = 0x01 // of a leaf's element

	magic   = 0xED0CDAED
	version = 2

	maxDepth = 16
)

var order = binary.NativeEndian

// contents is what inspect finds in a file.
type contents struct {
	head    head
	waiting []entry // the batches from head.Acknowledged+1 to head.Last
	// doubtful is set if one of the two meta pages is damaged: the last transaction
	// may be lost, as a whole.
	doubtful bool
	// empty is set for a database that was created, and no more.
	empty             bool
	pages, free, size int64
}

// inspect reads the whole file and tells what it holds, if all of it is right: each
// page is of the tree once or free, in order and in bounds, each record matches its
// checksum, no record and no batch is missing. It neither trusts the file nor maps
// it into memory, and ends with ErrCorrupt, or ErrNewerFormat, where bbolt would
// panic, loop or fault.
func inspect(file io.ReaderAt, size int64) (*contents, error) {
	in := inspector{file: file, size: size}
	root, freelist, err := in.metas()
	if err != nil {
		return nil, err
	}
	// In order, once: the walk jumps about, and on a cold disk would wait for each page.
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.NewSectionReader(file, 0, size), make([]byte, 1<<20)); err != nil {
		return nil, corruptf("%v", err)
	}
	if err := in.tree(root, in.upper[:], nil, nil, in.bucket); err != nil {
		return nil, err
	}
	if err := in.freelist(freelist); err != nil {
		return nil, err
	}
	if err := in.accounts(); err != nil {
		return nil, err
	}
	return &in.found, in.judge()
}

type inspector struct {
	file  io.ReaderAt
	size  int64
	pages uint64   // there are no pages from this one on
	used  []uint64 // a bit for each
	// The pages on the way down, of the root and of a bucket.
	upper, lower [maxDepth][]byte

	found   contents
	buckets int
	state   digest
	chunk   chunkReader
	hasHead bool
	// records is the first thing that is wrong with the records, in pages that are
	// right. It counts only if the head says that the format is ours.
	records error
}

// metas finds the newer of the two meta pages that are whole, as bbolt does.
func (in *inspector) metas() (root, freelist uint64, err error) {
	var newest uint64
	seen := 0
	for i := range int64(2) {
		page := make([]byte, pageHeader+metaBytes)
		if _, err := in.file.ReadAt(page, i*pageSize); err != nil {
			continue
		}
		m := page[pageHeader:]
		hash := fnv.New64a()
		hash.Write(m[:metaBytes-8])
		if order.Uint32(m) != magic || order.Uint32(m[4:]) != version || order.Uint32(m[8:]) != pageSize ||
			order.Uint64(m[56:]) != hash.Sum64() {
			continue
		}
		seen++
		if tx := order.Uint64(m[48:]); seen == 1 || tx > newest {
			newest = tx
			root, freelist, in.pages = order.Uint64(m[16:]), order.Uint64(m[32:]), order.Uint64(m[40:])
		}
	}
	if seen == 0 {
		return 0, 0, corruptf("it is no journal, or its beginning is damaged")
	}
	// The file may be shorter than that, if all that is missing is free.
	if in.pages > 1<<32 {
		return 0, 0, corruptf("it claims %d pages", in.pages)
	}
	in.used = make([]uint64, in.pages/64+1)
	in.take(0)
	in.take(1)
	in.found.doubtful = seen == 1
	in.found.pages, in.found.size = int64(in.pages), in.size
	return root, freelist, nil
}

// take marks a page as used; it must not be yet.
func (in *inspector) take(id uint64) bool {
	if id >= in.pages || in.used[id/64]&(1<<(id%64)) != 0 {
		return false
	}
	in.used[id/64] |= 1 << (id % 64)
	return true
}

// page reads a page with all that it overflows into.
func (in *inspector) page(id uint64, buffer []byte) ([]byte, error) {
	p := slices.Grow(buffer[:0], pageSize)[:pageSize]
	if id < 2 || id >= in.pages {
		return p, corruptf("page %d is out of bounds", id)
	}
	if _, err := in.file.ReadAt(p, int64(id)*pageSize); err != nil {
		return p, corruptf("page %d: %v", id, unexpected(err))
	}
	if order.Uint64(p) != id {
		return p, corruptf("page %d is not where it belongs", id)
	}
	overflow := uint64(order.Uint32(p[12:]))
	if id+overflow >= in.pages || int64(id+overflow+1)*pageSize > in.size {
		return p, corruptf("page %d is out of bounds", id)
	}
	for i := range overflow + 1 {
		if !in.take(id + i) {
			return p, corruptf("page %d is used twice", id+i)
		}
	}
	if overflow > 0 {
		p = slices.Grow(p, int(overflow)*pageSize)[:(overflow+1)*pageSize]
		if _, err := in.file.ReadAt(p[pageSize:], int64(id+1)*pageSize); err != nil {
			return p, corruptf("page %d: %v", id, unexpected(err))
		}
	}
	return p, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

type visit func(flags uint32, key, value []byte) error

// tree walks the pages below one whose keys are from low up to, and not including,
// high; nil is no bound. The pages lie in memory, one of each level.
func (in *inspector) tree(id uint64, memory [][]byte, low, high []byte, do visit) error {
	if len(memory) == 0 {
		return corruptf("page %d is too deep", id)
	}
	p, err := in.page(id, memory[0])
	memory[0] = p
	if err != nil {
		return err
	}
	if order.Uint16(p[8:]) == leafFlag {
		return leaf(p, id, low, high, do)
	}
	if order.Uint16(p[8:]) != branchFlag || order.Uint16(p[10:]) == 0 {
		return corruptf("page %d is neither branch nor leaf", id)
	}
	count := int(order.Uint16(p[10:]))
	key, child, err := branchElement(p, id, 0)
	for i := range count {
		if err != nil {
			return err
		}
		if !within(key, low, high, i == 0) {
			return corruptf("page %d is out of order", id)
		}
		nextKey, nextChild, end := high, uint64(0), i+1 == count
		if !end {
			nextKey, nextChild, err = branchElement(p, id, i+1)
		}
		if err := in.tree(child, memory[1:], key, nextKey, do); err != nil {
			return err
		}
		low, key, child = key, nextKey, nextChild
	}
	return nil
}

// within reports whether a key is in bounds: above low, or at it for the first key
// of a page, and below high.
func within(key, low, high []byte, first bool) bool {
	if high != nil && bytes.Compare(key, high) >= 0 {
		return false
	}
	if first {
		return low == nil || bytes.Compare(key, low) >= 0
	}
	return bytes.Compare(key, low) > 0
}

func branchElement(p []byte, id uint64, i int) (key []byte, child uint64, err error) {
	at := pageHeader + i*elementHeader
	if at+elementHeader > len(p) {
		return nil, 0, corruptf("page %d counts too many", id)
	}
	e := p[at:]
	key, err = part(p, id, at, order.Uint32(e), order.Uint32(e[4:]))
	return key, order.Uint64(e[8:]), err
}

// part is the piece of a page that begins position bytes behind an element.
func part(p []byte, id uint64, element int, position, length uint32) ([]byte, error) {
	from := uint64(element) + uint64(position)
	to := from + uint64(length)
	if to > uint64(len(p)) {
		return nil, corruptf("page %d is torn", id)
	}
	return p[from:to:to], nil
}

// leaf visits the records of a leaf; p may also be the page within a small bucket.
func leaf(p []byte, id uint64, low, high []byte, do visit) error {
	for i := range int(order.Uint16(p[10:])) {
		at := pageHeader + i*elementHeader
		if at+elementHeader > len(p) {
			return corruptf("page %d counts too many", id)
		}
		e := p[at:]
		position, keyBytes, valueBytes := order.Uint32(e[4:]), order.Uint32(e[8:]), order.Uint32(e[12:])
		key, err := part(p, id, at, position, keyBytes)
		if err != nil {
			return err
		}
		value, err := part(p, id, at+len(key), position, valueBytes)
		if err != nil {
			return err
		}
		if !within(key, low, high, i == 0) || len(key) == 0 {
			return corruptf("page %d is out of order", id)
		}
		if err := do(order.Uint32(e), key, value); err != nil {
			return err
		}
		low = key
	}
	return nil
}

// bucket visits an element of the root: a bucket.
func (in *inspector) bucket(flags uint32, name, value []byte) error {
	if flags != bucketFlag || len(value) < bucketHeader {
		return corruptf("the root holds what is no bucket")
	}
	do, known := map[string]visit{string(headBucket): in.headRecord, string(factsBucket): in.factsRecord, string(stateBucket): in.stateRecord}[string(name)]
	if known {
		in.buckets++
	} else {
		in.wrong(corruptf("it has a bucket %q", name))
		do = func(uint32, []byte, []byte) error { return nil }
	}
	record := func(flags uint32, key, value []byte) error {
		if flags != 0 {
			return corruptf("bucket %q holds what is no record", name)
		}
		return do(flags, key, value)
	}
	root := order.Uint64(value)
	if root != 0 {
		return in.tree(root, in.lower[:], nil, nil, record)
	}
	inline := value[bucketHeader:]
	if len(inline) < pageHeader || order.Uint16(inline[8:]) != leafFlag {
		return corruptf("bucket %q is torn", name)
	}
	return leaf(inline, 0, nil, nil, record)
}

func (in *inspector) wrong(err error) {
	if in.records == nil {
		in.records = err
	}
}

func (in *inspector) headRecord(_ uint32, key, value []byte) error {
	h, err := unsealHead(value)
	if !bytes.Equal(key, headKey) {
		err = corruptf("the head has a record %q", key)
	}
	if err != nil {
		in.wrong(err)
		return nil
	}
	in.hasHead, in.found.head = true, h
	return nil
}

func (in *inspector) stateRecord(_ uint32, key, value []byte) error {
	if _, err := unseal(stateBucket, key, value); err != nil {
		in.wrong(err)
		return nil
	}
	in.state.add(value)
	return nil
}

func (in *inspector) factsRecord(_ uint32, key, value []byte) error {
	e, err := in.chunk.next(key, value)
	if err != nil {
		in.wrong(err)
	} else if e != nil {
		in.found.waiting = append(in.found.waiting, *e)
	}
	return nil
}

// chunkReader checks that the records of the facts are whole batches.
type chunkReader struct {
	entry   entry
	records int // of entry.Chunks, seen so far
	bytes   int
}

// next takes the next record, and returns the batch that begins with it, if one does.
func (r *chunkReader) next(key, value []byte) (*entry, error) {
	number, record, err := splitFactsKey(key)
	if err != nil {
		return nil, err
	}
	if record == 0 {
		if err := r.end(); err != nil {
			return nil, err
		}
		r.entry, err = unsealEntry(number, value)
		r.records, r.bytes = 0, 0
		return &r.entry, err
	}
	if number != r.entry.number || record != r.records+1 {
		return nil, corruptf("batch %d of the facts has no record %d", r.entry.number, r.records+1)
	}
	data, err := unseal(factsBucket, key, value)
	r.records++
	r.bytes += len(data)
	return nil, err
}

// end checks that the batch that was begun is all there.
func (r *chunkReader) end() error {
	if r.records != r.entry.Chunks || r.bytes != r.entry.Bytes {
		return corruptf("batch %d of the facts is cut short", r.entry.number)
	}
	return nil
}

func (in *inspector) freelist(id uint64) error {
	p, err := in.page(id, nil)
	if err != nil {
		return fmt.Errorf("the list of free pages: %w", err)
	}
	if order.Uint16(p[8:]) != freelistFlag {
		return corruptf("page %d is no list of free pages", id)
	}
	count, ids := uint64(order.Uint16(p[10:])), p[pageHeader:]
	if count == 0xFFFF {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return corruptf("the list of free pages is cut short")
	}
	for i := range count {
		if free := order.Uint64(ids[i*8:]); !in.take(free) {
			return corruptf("page %d is free and is used", free)
		}
	}
	in.found.free = int64(count)
	return nil
}

// accounts checks that no page is lost.
func (in *inspector) accounts() error {
	for id := range in.pages {
		if in.used[id/64]&(1<<(id%64)) == 0 {
			return corruptf("page %d is neither used nor free", id)
		}
	}
	return nil
}

// judge tells whether the records, in pages that are right, are a journal.
func (in *inspector) judge() error {
	h := &in.found.head
	switch {
	case in.buckets == 0 && in.records == nil:
		in.found.empty = true
		return nil
	case in.hasHead && h.Format > format:
		return fmt.Errorf("%w: its format is %d, this program knows %d", ErrNewerFormat, h.Format, format)
	case in.records != nil:
		return in.records
	case !in.hasHead || in.buckets != 3:
		return corruptf("it has no head")
	}
	if err := in.chunk.end(); err != nil {
		return err
	}
	if in.state != h.State {
		return corruptf("the state has %d records, and should have %d, or some are of an earlier time", in.state.Records, h.State.Records)
	}
	for i, e := range in.found.waiting {
		if e.number != h.Acknowledged+1+uint64(i) {
			return corruptf("batch %d of the facts is missing", h.Acknowledged+1+uint64(i))
		}
	}
	if h.Acknowledged+uint64(len(in.found.waiting)) != h.Last {
		return corruptf("batches of the facts are missing: the last should be %d", h.Last)
	}
	return nil
}
