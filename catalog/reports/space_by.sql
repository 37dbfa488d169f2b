arrayJoin(multiIf(
        {by:String} = 'namespace', [toString(namespace)],
        {by:String} = 'owner', [toString(owner)],
        {by:String} = 'storageclass', [toString(storage_class)],
        empty(groups), [''],
        arrayDistinct(CAST(groups, 'Array(String)'))))
