// Package history checks the reports against a made-up history whose answers are known: `go test ./test/history`.
//
// A generator with a seed plays clusters for two months (world_*_test.go): claims, volumes and pods come and go, names are used
// again, volumes change hands, and nobody watches for a while. The objects of the API go the tracker's own way: inventory,
// recorder, journal, writer, ClickHouse (tracker_test.go). The generator keeps a plain list of lives beside that
// (model_test.go), and each report's answer is a loop over this list (answers_*_test.go). The reports are asked at random
// moments, for random windows, with random filters, and each row must be the model's.
//
// HISTORY_SEED sets the seed. A difference prints it with the report, its flags and the rows.
package history
