({namespace:String} = '' OR c.namespace = {namespace:String})
  AND ({owner:String} = '' OR c.owner = {owner:String})
  AND ({group:String} = '' OR has(c.groups, {group:String}))
