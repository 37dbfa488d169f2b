{{- /* Included by other reports: what of the window the rollup does not have, as [(began, ended), …]. */ -}}
if(mapContains(rolled, toString(cluster)), [(began_micros, rolled[toString(cluster)].1), (rolled[toString(cluster)].2, ended_micros)], [(began_micros, ended_micros)])
