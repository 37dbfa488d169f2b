{{- /* Included by object_resizes.sql, idle-moment.sql and never-mounted-moment.sql, over changes: sizes, before and
after a change of size, and bytes, by how many it has changed. */ -}}
-- Sizes are quantities as the tracker writes them; any other text counts as no change.
arrayMap(
    text -> if(match(text, '^[0-9]{1,19}([KMGTPE]i)?$'),
        toInt128(extract(text, '^[0-9]+')) * transform(extract(text, '[A-Z]i$'), ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'],
            [1, 1024, 1048576, 1073741824, 1099511627776, 1125899906842624, 1152921504606846976], 0), toInt128(-1)),
    splitByString(' → ', details)) AS sizes,
if(length(sizes) = 2 AND sizes[1] >= 0 AND sizes[2] >= 0, sizes[2] - sizes[1], toInt128(0)) AS bytes
