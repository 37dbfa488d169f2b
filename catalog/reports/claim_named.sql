(position({{.}}, '/') > 0 AND namespace = substringIndex({{.}}, '/', 1) AND name = substring({{.}}, position({{.}}, '/') + 1))
