package embedded

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Names inside the data directory. The engine's own files are one level down, so that its data
// cannot be confused with its configuration or with this package's files.
const (
	engineDirectory = "clickhouse"
	configFile      = "clickhouse-config.xml"
	usersFile       = "clickhouse-users.xml"
)

// serverConfig limits the resources of a companion process: few background threads, small caches
// (the defaults are gigabytes), no system log tables. The cache of uncompressed blocks is larger: without it, a report that
// is asked again spends up to a third of its time on decompression. By ClickHouse's own policy, SLRU, a report that reads
// more than half of the cache would find nothing there.
const serverConfig = `<clickhouse>
  <users_config>%[1]s</users_config>
  <max_server_memory_usage>%[2]d</max_server_memory_usage>
  <background_pool_size>2</background_pool_size>
  <background_merges_mutations_concurrency_ratio>2</background_merges_mutations_concurrency_ratio>
  <background_move_pool_size>1</background_move_pool_size>
  <background_fetches_pool_size>1</background_fetches_pool_size>
  <background_common_pool_size>2</background_common_pool_size>
  <background_schedule_pool_size>4</background_schedule_pool_size>
  <background_buffer_flush_schedule_pool_size>1</background_buffer_flush_schedule_pool_size>
  <background_message_broker_schedule_pool_size>1</background_message_broker_schedule_pool_size>
  <background_distributed_schedule_pool_size>1</background_distributed_schedule_pool_size>
  <tables_loader_foreground_pool_size>2</tables_loader_foreground_pool_size>
  <tables_loader_background_pool_size>1</tables_loader_background_pool_size>
  <mark_cache_size>67108864</mark_cache_size>
  <primary_index_cache_size>67108864</primary_index_cache_size>
  <uncompressed_cache_policy>LRU</uncompressed_cache_policy>
  <uncompressed_cache_size>%[3]d</uncompressed_cache_size>
  <index_mark_cache_size>8388608</index_mark_cache_size>
  <index_uncompressed_cache_size>0</index_uncompressed_cache_size>
  <mmap_cache_size>100</mmap_cache_size>
  <compiled_expression_cache_size>16777216</compiled_expression_cache_size>
  <memory_worker_period_ms>500</memory_worker_period_ms>
</clickhouse>
`

// cacheShare divides the engine's memory: so much of it may hold uncompressed blocks.
const cacheShare = 4

// usersConfig lets a statement run on a thread for each free 256 MiB: by default ClickHouse 26.7 wants a gigabyte for each, and would
// run all of them on one. Statements that read more than ten million rows of a table do not use the cache of uncompressed blocks.
//
// It grants the engine's one user what a writer may do: everything except access to anything outside the engine. A dictionary's
// source may even be a command to run. Grants are an allow list, so that new functions of a new version stay forbidden. What
// a reader may do is less: see admit.
//
// It bounds the temporary data of that user, thus of all statements together, and of each statement. The server's own
// limit, max_temporary_data_on_disk_size, does nothing: libchdb 26.7 shows it in system.server_settings, but does not apply it.
// A statement that sorts or groups stops before less than min_free_disk_space_for_temporary_data is free. ClickHouse does not
// look at that when it joins on disk (grace_hash, partial_merge), so readers may not choose how it joins (settings.go).
const usersConfig = `<clickhouse>
  <profiles><default>
    <max_memory_usage>%[1]d</max_memory_usage>
    <max_temporary_data_on_disk_size_for_user>%[7]d</max_temporary_data_on_disk_size_for_user>
    <max_temporary_data_on_disk_size_for_query>%[6]d</max_temporary_data_on_disk_size_for_query>
    <min_free_disk_space_for_temporary_data>%[8]d</min_free_disk_space_for_temporary_data>
    <max_threads_min_free_memory_per_thread>268435456</max_threads_min_free_memory_per_thread>
    <input_format_values_interpret_expressions>0</input_format_values_interpret_expressions>
    <use_uncompressed_cache>1</use_uncompressed_cache>
    <merge_tree_max_rows_to_use_cache>10000000</merge_tree_max_rows_to_use_cache>
    <constraints>
      <max_parser_depth><min>1</min><max>1000</max></max_parser_depth>
      <max_parser_backtracks><min>1</min><max>1000000</max></max_parser_backtracks>
      <max_query_size><min>1</min><max>1048576</max></max_query_size>
      <max_ast_depth><min>1</min><max>1000</max></max_ast_depth>
      <max_ast_elements><min>1</min><max>50000</max></max_ast_elements>
      <max_expanded_ast_elements><min>1</min><max>500000</max></max_expanded_ast_elements>
      <max_memory_usage><min>1</min><max>%[1]d</max></max_memory_usage>
      <max_temporary_data_on_disk_size_for_user><const/></max_temporary_data_on_disk_size_for_user>
      <max_temporary_data_on_disk_size_for_query><min>1</min><max>%[6]d</max></max_temporary_data_on_disk_size_for_query>
      <min_free_disk_space_for_temporary_data><const/></min_free_disk_space_for_temporary_data>
      <max_result_rows><min>1</min><max>%[4]d</max></max_result_rows>
%[2]s    </constraints>
  </default></profiles>
  <quotas><default/></quotas>
  <users><default>
    <password></password>
    <networks><ip>::/0</ip></networks>
    <profile>default</profile>
    <quota>default</quota>
    <grants>
      <query>%[5]s</query>
%[3]s    </grants>
  </default></users>
</clickhouse>
`

// writerGrant is what a writer may do; a test puts another one in its place.
var writerGrant = `GRANT SHOW, SHOW ACCESS, SELECT, INSERT, ALTER, CREATE DATABASE, CREATE TABLE, CREATE VIEW,
  CREATE ARBITRARY TEMPORARY TABLE, CREATE TEMPORARY VIEW, CREATE FUNCTION, DROP, UNDROP TABLE, TRUNCATE,
  OPTIMIZE, CHECK, KILL QUERY, SYSTEM MERGES, SYSTEM TTL MERGES, SYSTEM FLUSH, dictGet ON *.*`

// insideEngines are the table engines that access nothing outside the engine's own data.
var insideEngines = [...]string{
	"MergeTree", "ReplacingMergeTree", "SummingMergeTree", "AggregatingMergeTree", "CollapsingMergeTree",
	"VersionedCollapsingMergeTree", "CoalescingMergeTree", "GraphiteMergeTree", "Memory", "Null", "Log", "TinyLog",
	"StripeLog", "Set", "Join", "Buffer", "Merge", "View", "MaterializedView", "GenerateRandom",
}

// outsideSettings name files or hosts (a template's file is read into the answer, a disk may be
// anywhere), enable a language that parseStatement does not parse, switch off the accounting of memory, or have SQL run that the
// gate does not see: in a filter, in a row, in a structure, by the name of a function, or by the engine's fuzzer. A subquery
// there may have SETTINGS, which the engine does not check. Nobody may give these settings; a reader may give only those in
// readerSettings.
var outsideSettings = [...]string{
	"format_template_resultset", "format_template_row", "format_schema", "format_schema_source", "output_format_schema",
	"input_format_record_errors_file_path", "format_avro_schema_registry_url", "merge_tree_disk", "dialect",
	"allow_experimental_eval_table_function", "additional_result_filter", "additional_table_filters", "ast_fuzzer_runs",
	"count_distinct_implementation", "input_format_values_interpret_expressions", templatesSetting, "schema_inference_hints", statementSetting,
	"implicit_select", "parallel_replicas_custom_key", "max_untracked_memory", "memory_profiler_step", "max_memory_usage_for_user",
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder returns no error
	return b.String()
}

// writeConfig writes the engine's configuration into dir and returns the arguments
// that boot it.
func writeConfig(dir string, maxMemory, queryMemory int64, l limits) ([]string, error) {
	users, config := filepath.Join(dir, usersFile), filepath.Join(dir, configFile)
	var constraints, engines strings.Builder
	for _, name := range outsideSettings {
		fmt.Fprintf(&constraints, "      <%s><const/></%[1]s>\n", name)
	}
	for _, name := range insideEngines {
		fmt.Fprintf(&engines, "      <query>GRANT TABLE ENGINE ON %s</query>\n", name)
	}
	text := fmt.Appendf(nil, usersConfig, queryMemory, constraints.String(), engines.String(), maxResultRows, writerGrant,
		l.temporary/2, l.temporary, l.keepFree)
	if err := os.WriteFile(users, text, 0o600); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", dir, rootCause(err))
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, serverConfig, escapeXML(users), maxMemory, maxMemory/cacheShare), 0o600); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", dir, rootCause(err))
	}
	return []string{"--path=" + filepath.Join(dir, engineDirectory), "--config-file=" + config}, nil
}
