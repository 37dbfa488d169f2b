{{- /* The environment: the chart's variables, but for those that extraEnv has, and extraEnv. */}}
{{- define "kubevoltracker.env" -}}
{{- $given := dict }}
{{- range .Values.extraEnv }}{{ $_ := set $given .name true }}{{ end }}
{{- range include "kubevoltracker.ownEnv" . | fromYamlArray }}
{{- if not (hasKey $given .name) }}
- name: {{ .name }}
  value: {{ .value | quote }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The tracker's flags, as environment variables. */}}
{{- define "kubevoltracker.ownEnv" -}}
- name: KUBEVOLTRACKER_DATA_DIR
  value: /data/tracker
{{- with include "kubevoltracker.goMemLimit" . }}
- name: GOMEMLIMIT
  value: {{ . }}
{{- end }}
- name: KUBEVOLTRACKER_LOG_LEVEL
  value: {{ .Values.log.level }}
- name: KUBEVOLTRACKER_LOG_FORMAT
  value: {{ .Values.log.format }}
{{- with .Values.clusterName }}
- name: KUBEVOLTRACKER_CLUSTER_NAME
  value: {{ . | quote }}
{{- end }}
{{- if eq .Values.catalog.mode "embedded" }}
- name: KUBEVOLTRACKER_CATALOG_URL
  value: http://127.0.0.1:8123/kubevoltracker
- name: KUBEVOLTRACKER_CATALOG_USERNAME
  value: kubevoltracker
- name: KUBEVOLTRACKER_CATALOG_PASSWORD_FILE
  value: /run/kubevoltracker/writer-password
{{- else if eq .Values.catalog.mode "external" }}
- name: KUBEVOLTRACKER_CATALOG_URL
  value: {{ include "kubevoltracker.externalURL" . | quote }}
{{- with .Values.catalog.external.username }}
- name: KUBEVOLTRACKER_CATALOG_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- with .Values.catalog.external.passwordSecret }}
{{- if .name }}
- name: KUBEVOLTRACKER_CATALOG_PASSWORD_FILE
  value: /etc/kubevoltracker/password/{{ .key }}
{{- end }}
{{- end }}
{{- else }}
- name: KUBEVOLTRACKER_CATALOG_URL
  value: none
{{- end }}
{{- if not .Values.collector.owners }}
- name: KUBEVOLTRACKER_COLLECTOR_OWNERS
  value: "false"
{{- end }}
{{- if not .Values.collector.attachments }}
- name: KUBEVOLTRACKER_COLLECTOR_ATTACHMENTS
  value: "false"
{{- end }}
{{- if not .Values.collector.storageCapacity }}
- name: KUBEVOLTRACKER_COLLECTOR_STORAGE_CAPACITY
  value: "false"
{{- end }}
{{- if .Values.kubelet.enabled }}
- name: KUBEVOLTRACKER_KUBELET_INTERVAL
  value: {{ .Values.kubelet.interval }}
- name: KUBEVOLTRACKER_KUBELET_SERVICE_ACCOUNT
  value: {{ include "kubevoltracker.kubeletsServiceAccount" . | quote }}
{{- if .Values.kubelet.insecureTLS }}
- name: KUBEVOLTRACKER_KUBELET_INSECURE_TLS
  value: "true"
{{- end }}
{{- else }}
- name: KUBEVOLTRACKER_KUBELET_INTERVAL
  value: 0s
{{- end }}
{{- if .Values.leaderElection.enabled }}
- name: KUBEVOLTRACKER_LEADER_ELECTION
  value: "true"
- name: KUBEVOLTRACKER_LEADER_ELECTION_LEASE
  value: {{ include "kubevoltracker.fullname" . | quote }}
{{- end }}
{{- end }}
