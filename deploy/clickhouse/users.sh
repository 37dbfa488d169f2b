#!/bin/sh
# Prints the SQL that makes the two users of a catalog on a ClickHouse server of your own, with
# exactly the rights that they need:
#
#   kubevoltracker          the tracker: makes the tables, writes them and reads them. The second GRANT is for
#                           --catalog.retention, and ALTER DELETE in it also for dropping weekly sums that have
#                           been replaced
#   kubevoltracker_reader   Grafana, reports, people: reads, within limits; deploy/compose/clickhouse/reader.xml has the same ones
#
# deploy/clickhouse/users.sh WRITER_PASSWORD_FILE READER_PASSWORD_FILE | clickhouse-client --multiquery
#
# The SQL holds the SHA-256 of the passwords (the first line of each file), not the passwords. It can
# be run again, to change them. KUBEVOLTRACKER_DATABASE names another database than kubevoltracker.
set -eu

database=${KUBEVOLTRACKER_DATABASE:-kubevoltracker}
if [ $# -ne 2 ]; then
	echo "usage: $0 WRITER_PASSWORD_FILE READER_PASSWORD_FILE" >&2
	exit 2
fi
case $database in
'' | [0-9]* | *[!A-Za-z0-9_]*)
	echo "$0: KUBEVOLTRACKER_DATABASE=$database is no name of a database: letters, digits and underscores, no digit first" >&2
	exit 2
	;;
esac

hash() {
	password=$(head -n 1 "$1" | tr -d '\r\n')
	if [ -z "$password" ]; then
		echo "$0: $1 has no password in its first line" >&2
		exit 2
	fi
	sum=$(printf %s "$password" | sha256sum) # 64 digits, and the name of the input
	echo "${sum%% *}"
}
writer=$(hash "$1")
reader=$(hash "$2")

cat <<SQL
CREATE USER IF NOT EXISTS kubevoltracker;
ALTER USER kubevoltracker IDENTIFIED WITH sha256_hash BY '$writer';
GRANT CREATE DATABASE, CREATE TABLE, SELECT, INSERT ON $database.* TO kubevoltracker;
GRANT ALTER TTL, ALTER SETTINGS, ALTER DELETE, OPTIMIZE ON $database.* TO kubevoltracker;

CREATE SETTINGS PROFILE IF NOT EXISTS kubevoltracker_reader;
ALTER SETTINGS PROFILE kubevoltracker_reader SETTINGS
  readonly = 2,
  max_memory_usage = 2000000000 MIN 1 MAX 2000000000,
  max_execution_time = 300 MIN 1 MAX 300,
  max_result_rows = 10000000 MIN 1 MAX 10000000,
  max_temporary_data_on_disk_size_for_query = 8000000000 MIN 1 MAX 8000000000,
  max_temporary_data_on_disk_size_for_user = 16000000000 CONST,
  min_free_disk_space_for_temporary_data = 2000000000 CONST,
  join_algorithm CONST,
  max_concurrent_queries_for_user = 12 CONST;
CREATE USER IF NOT EXISTS kubevoltracker_reader;
ALTER USER kubevoltracker_reader IDENTIFIED WITH sha256_hash BY '$reader' SETTINGS PROFILE 'kubevoltracker_reader';
GRANT SELECT ON $database.* TO kubevoltracker_reader;
SQL
