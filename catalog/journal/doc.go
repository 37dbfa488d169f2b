// Package journal keeps, in one directory on local disk, the data that must outlive the process:
// the facts that ClickHouse has not acknowledged yet, the compact state of the watched objects, and
// how far each kind has been watched.
//
// Batches flow in (Commit): each is one fsynced transaction, on disk as a whole or not at all,
// whatever happens to the process or the machine. The facts flow out in order (Next) until they are
// acknowledged (Acknowledge). At a start the state and the positions flow out (State, Get,
// Positions).
//
// It promises:
//   - A batch for which Commit returned survives a crash.
//   - Batches that belong to one commit (Batch.More) change the state as a whole or not at all. If the last one is
//     missing after a crash, Open undoes what the others changed.
//   - Batches of facts are numbered 1, 2, 3, ... without gaps for as long as the directory
//     lives. The journal's ID and the number identify a batch forever.
//   - The journal never returns damaged data. Open reads and checks everything before it
//     changes anything. It resumes a complete directory, sets aside a damaged one, and
//     reports Rewound if only the last commits are missing.
//   - No damage ends the process. After a fault of the disk every call returns an error
//     that names the cure.
//   - While more than Options.MaxBytes of facts are unacknowledged, Commit waits. The watch
//     thereby waits for ClickHouse, and nothing is dropped.
//
// The directory is a Pebble database (an LSM tree: a log, and sorted tables that are written once),
// plus one small file, COMMITTED. Pebble keeps a checksum of each block of its tables and each
// chunk of its log, so records have none of their own. The checksums cannot reveal the loss of a
// whole piece: Pebble takes a damaged end of its log or of its MANIFEST for a write that a crash
// cut short. Two numbers reveal it. Each commit leaves a key with its number (keys.go), which
// reveals a gap; and COMMITTED contains the number of the last commit on disk (committed.go), which
// reveals a missing end.
//
// On a small machine (2 cores and an SSD, both shared) a commit of 64 KB of facts with 100
// records of 1.2 KB into a state of 350,000 takes 1 to 10 ms and writes 0.5 to 0.7 MB. The
// directory has 90 MB then, and 16 MB of RESERVE (room.go). To open and read such a state
// takes 2 s and 28 MB of memory.
//
// Facts and state are opaque bytes to the journal: it knows nothing of what they mean.
package journal
