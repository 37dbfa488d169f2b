{{- /* Included by other reports: whether no filter of claims is given. ClickHouse does not look at what follows after OR if so. */ -}}
({namespace:String} = '' AND {owner:String} = '' AND {group:String} = '')
