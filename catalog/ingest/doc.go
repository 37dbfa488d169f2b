// Package ingest brings the facts of the inventory into the catalog, through the journal on disk.
//
// It owns both ends of the journal: the Recorder, which fills it; the codec and the names of its records; and the
// Writer, which empties it into ClickHouse. It also owns which column of which table each field of a fact goes to
// (tables.go), and what a tracker that starts reads back (RestoreJournal, RestoreCatalog).
//
//	collector ── fact.Update ──► Recorder ── batches ──► journal ── batches ──► Writer ── blocks ──► ClickHouse
//	                                │                       │                                            │
//	                                └── state, positions ──►└─ RestoreJournal ─► fact.Snapshot ◄─ RestoreCatalog
//
// What it promises:
//
//   - An outage of ClickHouse costs no row. The writer acknowledges a batch once ClickHouse has all of it on disk;
//     until then the batch is in the journal. When the journal is full, Record blocks, and the watches wait.
//   - A row that is written again changes nothing that a reader sees: its key and version are the same.
//   - A row that ClickHouse refuses for its content stops no other row: it goes to the table catalog_rejects.
//   - Of several trackers only the one with the lease writes (lease.go), and after a takeover no row is replaced by
//     an older one, and no event is written twice (takeover.go).
//   - After a crash the journal has all rows up to its positions; the watches go on from there, and rows that are
//     recorded a second time change nothing.
package ingest
