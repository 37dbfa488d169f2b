// Package skim decodes the pods of a watch, without the fields that collector/redact drops anyway: environments, probes,
// resources, the sets of fields in managedFields. Decoding a usual pod in full allocates 24 KB, and skimming it 7 KB
// (BenchmarkPod).
//
// Pods wraps the codecs of a client. Its decoder copies the kept fields of a pod's protobuf, as bytes, into a buffer, and
// lets the API's own decoder read that. Any other object, a list, JSON, and bytes that it cannot walk go to the API's own
// decoder as they are. A field that this package keeps and redact drops costs time alone; one that redact keeps must be in
// podFields, and TestSkimKeepsWhatRedactKeeps fails without it.
package skim
