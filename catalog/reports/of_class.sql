{{- /* Included by other reports, before mount_class.sql: arrays of keys: the volumes of {storageclass}, the volumes of
other classes, the claims that name {storageclass}, and the claims that count as of it: by the class of their volume,
else by their own. */ -}}
{{if given "storageclass"}}
(SELECT groupArray(uid_key) FROM volumes FINAL WHERE storage_class = {storageclass:String}) AS volumes_of_class,
(SELECT groupArray(uid_key) FROM volumes FINAL WHERE storage_class NOT IN ('', {storageclass:String})) AS volumes_of_others,
(SELECT groupArray(uid_key) FROM claims FINAL WHERE storage_class = {storageclass:String}) AS claims_naming_class,
(
    SELECT groupArray(uid_key) FROM claims FINAL
    WHERE {{listed "volume_key" "volumes_of_class"}}
       OR storage_class = {storageclass:String} AND NOT {{listed "volume_key" "volumes_of_others"}}
) AS claims_of_class,
{{end}}
