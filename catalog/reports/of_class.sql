{{- /* Included by other reports, before mount_class.sql: keys of the volumes of {storageclass}, of the other volumes that have a class, of the claims that name
{storageclass}, and of the claims that count as of it: by the class of their volume, else by their own. Lists are made once, however often they are read. */ -}}
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
