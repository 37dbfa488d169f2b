{{- define "kubevoltracker.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- /* The objects' name. 52 characters leave room for suffixes, and for the hash that a StatefulSet adds. */}}
{{- define "kubevoltracker.fullname" -}}
{{- $release := replace "." "-" .Release.Name }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "kubevoltracker.name" . }}
{{- if contains $name $release }}
{{- $release | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" $release $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The name of the objects of the cluster. A release of the same name in another namespace has others. */}}
{{- define "kubevoltracker.clusterObject" -}}
{{- $name := include "kubevoltracker.fullname" . }}
{{- if eq $name .Release.Namespace }}{{ $name }}{{ else }}{{ printf "%s-%s" .Release.Namespace $name }}{{ end }}
{{- end }}

{{- define "kubevoltracker.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kubevoltracker.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kubevoltracker.labels" -}}
{{ include "kubevoltracker.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* What each object begins with: metadata with name and labels. Call it with (list $ SUFFIX). */}}
{{- define "kubevoltracker.metadata" -}}
{{- $ := index . 0 -}}
name: {{ printf "%s%s" (include "kubevoltracker.fullname" $) (index . 1) | quote }}
namespace: {{ $.Release.Namespace | quote }}
labels:
  {{- include "kubevoltracker.labels" $ | nindent 2 }}
{{- end }}

{{- /* The same for objects of the cluster, which have no namespace. */}}
{{- define "kubevoltracker.clusterMetadata" -}}
{{- $ := index . 0 -}}
name: {{ printf "%s%s" (include "kubevoltracker.clusterObject" $) (index . 1) | quote }}
labels:
  {{- include "kubevoltracker.labels" $ | nindent 2 }}
{{- end }}

{{- define "kubevoltracker.serviceAccount" -}}
{{- default (include "kubevoltracker.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "kubevoltracker.kubeletsServiceAccount" -}}
{{- include "kubevoltracker.serviceAccount" . }}-kubelets
{{- end }}

{{- /* A reference to an image. Call it with (list $ IMAGE). */}}
{{- define "kubevoltracker.image" -}}
{{- $ := index . 0 -}}
{{- $image := index . 1 -}}
{{- $name := $image.repository -}}
{{- with $.Values.image.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- if $image.digest }}
{{- printf "%s@%s" $name $image.digest }}
{{- else }}
{{- printf "%s:%s" $name (coalesce $image.tag $.Values.image.tag $.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* GOMEMLIMIT: nine tenths of the memory limit, or nothing if that is absent or in another unit. */}}
{{- define "kubevoltracker.goMemLimit" -}}
{{- $limit := ((.Values.resources | default dict).limits | default dict).memory | toString -}}
{{- if regexMatch "^[0-9]+Mi$" $limit }}
{{- div (mul (trimSuffix "Mi" $limit | int) 9) 10 }}MiB
{{- else if regexMatch "^[0-9]+Gi$" $limit }}
{{- div (mul (trimSuffix "Gi" $limit | int) 9216) 10 }}MiB
{{- end }}
{{- end }}

{{- /* The URL of the external ClickHouse, with the authority of its certificate. */}}
{{- define "kubevoltracker.externalURL" -}}
{{- with .Values.catalog.external -}}
{{- .url -}}
{{- if .caSecret.name }}{{ contains "?" .url | ternary "&" "?" }}ca_file=/etc/kubevoltracker/ca/{{ .caSecret.key }}{{ end }}
{{- end }}
{{- end }}

{{- /* The port of the external ClickHouse, by the tracker's own defaults if the URL has none. */}}
{{- define "kubevoltracker.externalPort" -}}
{{- $url := urlParse .Values.catalog.external.url -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- if $port }}{{ $port }}
{{- else if eq $url.scheme "https" }}8443
{{- else if eq $url.scheme "http" }}8123
{{- else if regexMatch "(^|&)secure=(1|true)(&|$)" $url.query }}9440
{{- else }}9000
{{- end }}
{{- end }}

{{- /* Refuses values that cannot work, and says what to do. */}}
{{- define "kubevoltracker.check" -}}
{{- $mode := .Values.catalog.mode -}}
{{- $replicas := int .Values.replicas -}}
{{- if and (eq $mode "embedded") (gt $replicas 1) }}
{{- fail (printf "replicas=%d: the embedded catalog is in one pod. Set replicas=1; or catalog.mode=external with leaderElection.enabled=true, for trackers that take over from each other" $replicas) }}
{{- end }}
{{- if and (eq $mode "embedded") (semverCompare "<1.29.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "catalog.mode=embedded: the ClickHouse in the pod is a sidecar container, which Kubernetes has from version 1.29 on, and this is %s. Set catalog.mode=external or catalog.mode=none" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and (eq $mode "external") (gt $replicas 1) (not .Values.leaderElection.enabled) }}
{{- fail (printf "replicas=%d: one of the trackers has to write the catalog. Set leaderElection.enabled=true" $replicas) }}
{{- end }}
{{- if and .Values.leaderElection.enabled (ne $mode "external") }}
{{- fail (printf "leaderElection.enabled=true: the trackers need a catalog that they share, and catalog.mode is %s. Set catalog.mode=external" $mode) }}
{{- end }}
{{- if eq $mode "external" }}
{{- $url := .Values.catalog.external.url -}}
{{- if not $url }}
{{- fail "catalog.mode=external: set catalog.external.url to your ClickHouse, such as clickhouse://clickhouse.example.com:9440/kubevoltracker?secure=true" }}
{{- end }}
{{- if or (contains "@" (urlParse $url).host) (urlParse $url).userinfo (regexMatch "[?&](user|username|password)=" $url) }}
{{- fail "catalog.external.url: it contains a user, and pods are no place for its password. Set catalog.external.username, and catalog.external.passwordSecret.name" }}
{{- end }}
{{- if and .Values.catalog.external.caSecret.name (not (regexMatch "^https:|[?&]secure=(1|true)(&|$)" $url)) }}
{{- fail "catalog.external.caSecret: the connection has no TLS. Add secure=true to catalog.external.url, or begin it with https://" }}
{{- end }}
{{- end }}
{{- /* Flags that the chart sets, or for which it has a value, and what to do in place of giving them. A test looks that each
       variable of _env.tpl is among them. */}}
{{- $pod := "the chart's probes, ports and volumes are made for its own. Leave it out" -}}
{{- $lease := "the chart's Role names its own Lease. Leave it out" -}}
{{- $login := "the chart has made this user. Leave it out" -}}
{{- if eq $mode "external" }}
{{- $login = "the chart has values for it. Set catalog.external.username and catalog.external.passwordSecret" -}}
{{- end }}
{{- $rights := "the chart grants the rights for it by a value. Set %s" -}}
{{- $engine := "ClickHouse is a container of its own. Give it flags by catalog.embedded.extraArgs" -}}
{{- $flags := dict "data-dir" $pod "web.listen-address" $pod "web.config.file" $pod "web.telemetry-path" $pod
  "log.level" "the chart has a value for it. Set log.level" "log.format" "the chart has a value for it. Set log.format"
  "cluster.name" "the series get their label cluster from clusterName. Set clusterName"
  "catalog.url" "the pod, its network policy and its reports have the catalog of catalog.mode. Set catalog.mode and catalog.external.url"
  "catalog.username" $login "catalog.password-file" $login
  "catalog.reader-password-file" $engine "catalog.embedded-listen-address" $engine
  "catalog.embedded-binary" $engine "catalog.embedded-library" $engine
  "collector.owners" (printf $rights "collector.owners") "collector.attachments" (printf $rights "collector.attachments")
  "collector.storage-capacity" (printf $rights "collector.storageCapacity")
  "kubelet.interval" (printf $rights "kubelet.enabled and kubelet.interval")
  "kubelet.service-account" (printf $rights "kubelet.enabled; serviceAccount.name is the account's name without its suffix")
  "kubelet.insecure-tls" "the chart has a value for it. Set kubelet.insecureTLS"
  "leader-election" (printf $rights "leaderElection.enabled")
  "leader-election.lease" $lease "leader-election.namespace" $lease -}}
{{- range $flag, $cure := $flags }}
{{- range $.Values.extraArgs }}
{{- if regexMatch (printf "^--(no-)?%s(=|$)" ($flag | replace "." "\\.")) . }}
{{- fail (printf "extraArgs: %s: %s" . $cure) }}
{{- end }}
{{- end }}
{{- range $.Values.extraEnv }}
{{- if eq .name (regexReplaceAll "[.-]" $flag "_" | upper | printf "KUBEVOLTRACKER_%s") }}
{{- fail (printf "extraEnv: %s: %s" .name $cure) }}
{{- end }}
{{- end }}
{{- end }}
{{- range .Values.catalog.embedded.extraArgs }}
{{- if regexMatch "^--(no-)?(data-dir|listen-address|writer-password-[a-z]+|max-memory|log\\.[a-z]+)\\b" . }}
{{- fail (printf "catalog.embedded.extraArgs: %s: the chart has set it. Leave it out; catalog.embedded.maxMemory and log are values" .) }}
{{- end }}
{{- end }}
{{- if and .Values.persistence.enabled .Values.persistence.existingClaim (gt $replicas 1) }}
{{- fail (printf "persistence.existingClaim: each of the %d replicas needs a volume of its own. Leave it empty, and the chart makes a claim for each" $replicas) }}
{{- end }}
{{- end }}
