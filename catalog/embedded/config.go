package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Names inside the data directory. The engine's own files live one level down, so
// that its configuration and ours are never mistaken for its data.
const (
	engineDirectory = "clickhouse"
	configFile      = "clickhouse-config.xml"
	usersFile       = "clickhouse-users.xml"
)

// serverConfig bounds what a companion process may take: few background threads, small
// caches (the defaults are gigabytes), no system log tables.
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
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <index_mark_cache_size>8388608</index_mark_cache_size>
  <index_uncompressed_cache_size>0</index_uncompressed_cache_size>
  <mmap_cache_size>100</mmap_cache_size>
  <compiled_expression_cache_size>16777216</compiled_expression_cache_size>
  <memory_worker_period_ms>500</memory_worker_period_ms>
</clickhouse>
`

// usersConfig gives the one user everything but a way out of the engine: whoever
// reaches the port could otherwise read and write this account's files, or have the
// engine call other hosts. A dictionary's source may even be a command to run.
const usersConfig = `<clickhouse>
  <profiles><default>
    <max_memory_usage>%[1]d</max_memory_usage>
  </default></profiles>
  <quotas><default/></quotas>
  <users><default>
    <password></password>
    <networks><ip>::/0</ip></networks>
    <profile>default</profile>
    <quota>default</quota>
    <grants>
      <query>GRANT ALL ON *.*</query>
      <query>REVOKE SOURCES ON *.*</query>
      <query>REVOKE CREATE DICTIONARY ON *.*</query>
%[2]s    </grants>
  </default></users>
</clickhouse>
`

// outsideEngines are the table engines that read or write something outside the
// engine's own data.
var outsideEngines = [...]string{
	"File", "URL", "S3", "S3Queue", "HDFS", "AzureBlobStorage", "AzureQueue", "MySQL", "PostgreSQL",
	"MaterializedPostgreSQL", "MongoDB", "Redis", "SQLite", "ODBC", "JDBC", "Executable", "ExecutablePool",
	"Kafka", "RabbitMQ", "NATS", "FileLog", "Distributed", "Hive", "DeltaLake", "DeltaLakeLocal", "Iceberg",
	"IcebergLocal", "IcebergS3", "Hudi", "ArrowFlight", "YTsaurus",
}

// writeConfig writes the engine's configuration into dir and returns the arguments
// that boot it.
func writeConfig(dir string, maxMemory int64) ([]string, error) {
	users, config := filepath.Join(dir, usersFile), filepath.Join(dir, configFile)
	var revoked strings.Builder
	for _, e := range outsideEngines {
		fmt.Fprintf(&revoked, "      <query>REVOKE TABLE ENGINE ON %s</query>\n", e)
	}
	if err := os.WriteFile(users, fmt.Appendf(nil, usersConfig, maxMemory, revoked.String()), 0o640); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", dir, rootCause(err))
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, serverConfig, users, maxMemory), 0o640); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", dir, rootCause(err))
	}
	return []string{"--path=" + filepath.Join(dir, engineDirectory), "--config-file=" + config}, nil
}
