{{- /* Included by other reports: the parts of the window that the rollup does not cover, as [(began, ended), …]. */ -}}
if(mapContains(rolled, toString(cluster)), [(began_micros, rolled[toString(cluster)].1), (rolled[toString(cluster)].2, ended_micros)], [(began_micros, ended_micros)])
