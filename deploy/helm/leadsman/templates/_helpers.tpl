{{- /* Labels of every object. */ -}}
{{- define "leadsman-labels" -}}
app.kubernetes.io/name: leadsman
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Labels of a part's pods; takes (list $ PART). */ -}}
{{- define "leadsman-part" -}}
{{ include "leadsman-labels" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "leadsman-image" -}}
{{- $image := .Values.image -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* Settings of all other parts; the value `settings` overrides the chart's. */ -}}
{{- define "leadsman-settings" -}}
{{- $kafka := dict "bootstrap_servers" .Values.kafka.bootstrapServers "replication_factor" .Values.kafka.replicationFactor }}
{{- $election := dict "name" (printf "%s-watch" .Release.Name) }}
{{- $watch := dict "cluster" .Values.cluster "kubelet" (dict "access" .Values.watch.kubelet) "election" $election }}
{{- $all := dict "kafka" $kafka "watch" $watch "telemetry" (dict "host" "0.0.0.0" "port" 9300) }}
{{- toYaml (mergeOverwrite $all (deepCopy .Values.settings)) }}
{{- end }}

{{- /* Settings of the page, which has neither Kafka's credentials nor other parts' variables. */ -}}
{{- define "leadsman-pageSettings" -}}
{{- toYaml (pick .Values.settings "page" "log") }}
{{- end }}

{{- /* Pod fields other than containers and volumes. */ -}}
{{- define "leadsman-pod" -}}
enableServiceLinks: false
terminationGracePeriodSeconds: 45
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "leadsman-podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "leadsman-containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Takes (list PORT READY): the name of a port, and the path that is 200 while the part is ready. */ -}}
{{- define "leadsman-probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: {{ index . 0 }}}
  periodSeconds: 5
  failureThreshold: 24
livenessProbe:
  httpGet: {path: /healthz, port: {{ index . 0 }}}
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: {path: {{ index . 1 }}, port: {{ index . 0 }}}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{- /* StatefulSet of a part that uses Kafka: stable pod names keep group membership and the Lease across restarts. Takes a
dict of `top`, `part`, `values`, `replicas` and `args`. Optional are `env`, `secret`, `optional` (a Secret that need not exist),
`account` and `receiver`. */ -}}
{{- define "leadsman-statefulset" -}}
{{- $name := printf "%s-%s" .top.Release.Name .part }}
{{- $labels := include "leadsman-part" (list .top .part) }}
{{- with .receiver }}
{{- $name = printf "%s-%s" $name . }}
{{- $labels = printf "%s\nalert-receiver: %s" $labels . }}
{{- end -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  namespace: {{ .top.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  serviceName: {{ .top.Release.Name }}-telemetry
  podManagementPolicy: Parallel
  selector:
    matchLabels: {{- $labels | nindent 6 }}
  template:
    metadata:
      labels: {{- $labels | nindent 8 }}
      annotations:
        checksum/settings: {{ include "leadsman-settings" .top | sha256sum }}
        {{- with .top.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- if .account }}
      serviceAccountName: {{ .account }}
      {{- else }}
      automountServiceAccountToken: false
      {{- end }}
      {{- include "leadsman-pod" .top | nindent 6 }}
      {{- with .top.Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext: {{- include "leadsman-podSecurity" . | nindent 8 }}
      containers:
        - name: {{ .part }}
          image: {{ include "leadsman-image" .top }}
          imagePullPolicy: {{ .top.Values.image.pullPolicy }}
          args: {{- toYaml .args | nindent 12 }}
          {{- with .env }}
          env: {{- toYaml . | nindent 12 }}
          {{- end }}
          envFrom:
            - secretRef: {name: {{ .top.Values.kafka.secret }}, optional: true}
            {{- with .optional }}
            - secretRef: {name: {{ . }}, optional: true}
            {{- end }}
            {{- with .secret }}
            - secretRef: {name: {{ . }}}
            {{- end }}
          ports:
            - {name: telemetry, containerPort: 9300}
          {{- include "leadsman-probes" (list "telemetry" "/readyz") | nindent 10 }}
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext: {{- include "leadsman-containerSecurity" . | nindent 12 }}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            - {name: settings, mountPath: /etc/leadsman, readOnly: true}
      volumes:
        - name: tmp
          emptyDir: {sizeLimit: 1Gi}
        - name: settings
          configMap: {name: {{ .top.Release.Name }}}
{{- end }}
