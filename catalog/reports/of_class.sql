{{- /* Included by other reports, before mount_class.sql: hashes of the volumes of {storageclass}, of the other volumes that have a class, of the claims that name
{storageclass}, and of the claims that count as of it: by the class of their volume, else by their own. Lists are made once, however often they are read. */ -}}
(SELECT groupArray(({{hashes "cluster, uid"}})) FROM volumes FINAL WHERE {storageclass:String} != '' AND storage_class = {storageclass:String}) AS volumes_of_class,
(SELECT groupArray(({{hashes "cluster, uid"}})) FROM volumes FINAL WHERE {storageclass:String} != '' AND storage_class NOT IN ('', {storageclass:String})) AS volumes_of_others,
(SELECT groupArray(({{hashes "cluster, uid"}})) FROM claims FINAL WHERE {storageclass:String} != '' AND storage_class = {storageclass:String}) AS claims_naming_class,
(
    SELECT groupArray(({{hashes "cluster, uid"}})) FROM claims FINAL
    WHERE {storageclass:String} != ''
      AND (({{hashes "cluster, volume_uid"}}) IN (SELECT h.1, h.2 FROM (SELECT arrayJoin(volumes_of_class) AS h))
           OR storage_class = {storageclass:String} AND ({{hashes "cluster, volume_uid"}}) NOT IN (SELECT h.1, h.2 FROM (SELECT arrayJoin(volumes_of_others) AS h)))
) AS claims_of_class