-- What a cluster of short jobs leaves behind: {rows} pods from number {from} on, each with a container, and a claim with
-- a volume of its own. cityHash64 makes numbers that do not repeat and do not compress.
INSERT INTO mounts (cluster, namespace, pod_uid, container, volume, mount_path, source_kind, source_id, claim_uid, claim_name, volume_uid, started_at, ended_at, end_reason, version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', 'team-' || toString(number % 200), toString(reinterpretAsUUID(sipHash128(number, 'pod'))), 'main', 'data', '/data', 'csi',
    hex(sipHash64(number, 'source')), toString(reinterpretAsUUID(sipHash128(number, 'claim'))), 'data-etl-' || toString(number % 5000) || '-0', toString(reinterpretAsUUID(sipHash128(number, 'volume'))),
    toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60 + cityHash64(number) % 60) AS start, start + toIntervalSecond(cityHash64(number, 'end') % 7200) AS end, 'Completed',
    toUnixTimestamp64Micro(end) + cityHash64(number, 'late') % 1000000
FROM numbers({from}, {rows});

INSERT INTO containers (cluster, pod_uid, name, kind, image, command, started_at, finished_at, restarts, version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', toString(reinterpretAsUUID(sipHash128(number, 'pod'))), 'main', 'main', 'registry.example/etl:1.' || toString(number % 100), '/bin/etl',
    toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60 + cityHash64(number) % 60) AS start, start + toIntervalSecond(cityHash64(number, 'end') % 7200) AS end, 0,
    toUnixTimestamp64Micro(end) + cityHash64(number, 'late') % 1000000
FROM numbers({from}, {rows});

INSERT INTO pods (cluster, uid, namespace, name, node, service_account, owner, workload_kind, workload_name, workload_uid, phase, labels, created_at, started_at, finished_at, deleted_at, version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', toString(reinterpretAsUUID(sipHash128(number, 'pod'))), 'team-' || toString(number % 200), 'etl-' || toString(29000000 + intDiv(number, 8)) || '-' || lower(substring(hex(cityHash64(number, 'name')), 1, 5)),
    'node-' || toString(cityHash64(number, 'node') % 500), 'default', 'team-' || toString(number % 200), 'CronJob', 'etl-' || toString(number % 5000), toString(reinterpretAsUUID(sipHash128(number % 5000, 'workload'))), 'Succeeded',
    map('app', 'etl', 'team', 'team-' || toString(number % 200), 'batch.kubernetes.io/job-name', 'etl-' || toString(29000000 + intDiv(number, 8)), 'batch.kubernetes.io/controller-uid', toString(reinterpretAsUUID(sipHash128(number, 'job')))),
    toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60) AS created, created + toIntervalSecond(cityHash64(number) % 60), created + toIntervalSecond(cityHash64(number, 'end') % 7200) AS end,
    end + toIntervalSecond(3600), toUnixTimestamp64Micro(end) + cityHash64(number, 'late') % 1000000
FROM numbers({from}, {rows});

INSERT INTO claims (cluster, uid, namespace, name, storage_class, volume_uid, volume_name, requested_bytes, capacity_bytes, access_modes, volume_mode, phase, owner, labels, created_at, bound_at, deleted_at, deleted_not_before, version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', toString(reinterpretAsUUID(sipHash128(number, 'claim')) AS uid), 'team-' || toString(number % 200), 'data-etl-' || toString(number % 5000) || '-0', 'fast', toString(reinterpretAsUUID(sipHash128(number, 'volume'))), 'pvc-' || toString(uid),
    1073741824 * (1 + number % 20), 1073741824 * (1 + number % 20), ['ReadWriteOnce'], 'Filesystem', 'Bound', 'team-' || toString(number % 200), map('app', 'etl', 'team', 'team-' || toString(number % 200)),
    toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60) AS created, created + toIntervalSecond(cityHash64(number) % 20), created + toIntervalSecond(7200 + cityHash64(number, 'end') % 7200) AS end, end,
    toUnixTimestamp64Micro(end) + cityHash64(number, 'late') % 1000000
FROM numbers({from}, {rows});

INSERT INTO volumes (cluster, uid, name, storage_class, source_kind, source_id, driver, volume_handle, capacity_bytes, access_modes, volume_mode, reclaim_policy, phase, phase_changed_at, claim_uid, annotations, created_at, deleted_at, deleted_not_before, version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', toString(reinterpretAsUUID(sipHash128(number, 'volume'))), 'pvc-' || (toString(reinterpretAsUUID(sipHash128(number, 'claim'))) AS claim), 'fast', 'csi', hex(sipHash64(number, 'source')), 'csi.example', 'vol-' || claim,
    1073741824 * (1 + number % 20), ['ReadWriteOnce'], 'Filesystem', 'Delete', 'Released', toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60 + 9000), claim, map('pv.kubernetes.io/provisioned-by', 'csi.example'),
    toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60) AS created, created + toIntervalSecond(7200 + cityHash64(number, 'end') % 7200) AS end, end, toUnixTimestamp64Micro(end) + cityHash64(number, 'late') % 1000000
FROM numbers({from}, {rows});

INSERT INTO volume_sources (cluster, id, kind, driver, path, attributes, version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', hex(sipHash64(number, 'source')), 'csi', 'csi.example', 'vol-' || (toString(reinterpretAsUUID(sipHash128(number, 'claim'))) AS claim), map('fsType', 'ext4', 'volumeHandle', 'vol-' || claim, 'volumeAttributes.pool', 'fast'), 1767225600000000 + number
FROM numbers({from}, {rows});

INSERT INTO bindings (cluster, namespace, claim_name, claim_uid, volume_uid, ordinal, bound_at, released_at, released_not_before, version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', 'team-' || toString(number % 200), 'data-etl-' || toString(number % 5000) || '-0', toString(reinterpretAsUUID(sipHash128(number, 'claim'))), toString(reinterpretAsUUID(sipHash128(number, 'volume'))), 0,
    toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60 + cityHash64(number) % 20) AS bound, bound + toIntervalSecond(7200 + cityHash64(number, 'end') % 7200) AS end, end, toUnixTimestamp64Micro(end) + cityHash64(number, 'late') % 1000000
FROM numbers({from}, {rows});

-- Seven changes of each pod, one after another as they come.
INSERT INTO changes (cluster, at, kind, uid, namespace, name, action, details, actor, resource_version)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60 + step * 10 + cityHash64(number) % 10), 'Pod', toString(reinterpretAsUUID(sipHash128(number, 'pod'))), 'team-' || toString(number % 200),
    'etl-' || toString(29000000 + intDiv(number, 8)) || '-' || lower(substring(hex(cityHash64(number, 'name')), 1, 5)), ['created', 'scheduled', 'started', 'mounted', 'unmounted', 'finished', 'deleted'][step],
    ['', 'to node-' || toString(cityHash64(number, 'node') % 500), 'main', 'main: data at /data', 'main: data at /data', 'Succeeded', ''][step], if(step < 3, '', 'kubelet'), toString(1000000 + number * 7 + step)
FROM numbers({from}, {rows}) ARRAY JOIN [1, 2, 3, 4, 5, 6, 7] AS step;

-- Five versions of each pod, as JSON of 1.3 KB.
INSERT INTO objects (cluster, kind, uid, namespace, name, resource_version, observed_at, object)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', 'Pod', toString(reinterpretAsUUID(sipHash128(number, 'pod')) AS pod), 'team-' || toString(number % 200) AS space, 'etl-' || toString(29000000 + intDiv(number, 8)) || '-' || lower(substring(hex(cityHash64(number, 'name')), 1, 5)) AS named,
    toString(1000000 + number * 7 + step), toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 8) * 60 + step * 10 + cityHash64(number) % 10) AS seen,
    concat('{"metadata":{"name":"', named, '","namespace":"', space, '","uid":"', toString(pod), '","creationTimestamp":"', toString(toDateTime(seen) - step * 10), '","labels":{"app":"etl","batch.kubernetes.io/controller-uid":"', toString(reinterpretAsUUID(sipHash128(number, 'job')) AS job),
        '","batch.kubernetes.io/job-name":"etl-', toString(29000000 + intDiv(number, 8)), '","controller-uid":"', toString(job), '","job-name":"etl-', toString(29000000 + intDiv(number, 8)), '","team":"', space, '","topology.kubernetes.io/zone":"zone-a","version":"1.2.3"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"etl-',
        toString(29000000 + intDiv(number, 8)), '","uid":"', toString(job), '","controller":true,"blockOwnerDeletion":true}],"finalizers":["batch.kubernetes.io/job-tracking"]},"spec":{"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-etl-', toString(number % 5000),
        '-0"}}],"containers":[{"name":"main","image":"registry.example/etl:1.', toString(number % 100), '","command":["/bin/etl"],"volumeMounts":[{"name":"data","mountPath":"/data"}]}],"restartPolicy":"Never","serviceAccountName":"default","nodeName":"node-', toString(cityHash64(number, 'node') % 500),
        '"},"status":{"phase":"', ['Pending', 'Pending', 'Running', 'Succeeded', 'Succeeded'][step], '","conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"', toString(toDateTime(seen) - 5), '"},{"type":"Ready","status":"False","lastTransitionTime":"', toString(toDateTime(seen)), '"}],"containerStatuses":[{"name":"main","state":{"',
        ['waiting', 'waiting', 'running', 'terminated', 'terminated'][step], '":{"startedAt":"', toString(toDateTime(seen)), '"}},"restartCount":0,"image":"registry.example/etl:1.', toString(number % 100), '","started":', ['false', 'false', 'true', 'false', 'false'][step], '}],"startTime":"', toString(toDateTime(seen) - 3), '"}}')
FROM numbers(intDiv({from}, 5), intDiv({rows}, 5)) ARRAY JOIN [1, 2, 3, 4, 5] AS step;

-- A sample of each volume, as after a kubelet's answer: a hundred samples of each of so many volumes.
INSERT INTO usage (cluster, at, claim_uid, volume_uid, capacity_bytes, used_bytes, available_bytes, inodes, inodes_used)
SELECT '0b6fa0a5-8d7c-4b4e-9b37-5a1d2f1c7e11', toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalSecond((number % 100) * 300 + cityHash64(intDiv(number, 100)) % 300), toString(reinterpretAsUUID(sipHash128(intDiv(number, 100), 'claim'))), toString(reinterpretAsUUID(sipHash128(intDiv(number, 100), 'volume'))),
    10464022528, cityHash64(intDiv(number, 100)) % 4000000000 + (number % 100) * 4096 * (cityHash64(number) % 50) AS used, 10464022528 - used, 655360, 11 + number % 100
FROM numbers({from}, {rows})
