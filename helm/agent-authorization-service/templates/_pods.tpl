{{- /* What all of our pods have in common. The group reads mounted Secrets. */ -}}
{{- define "svc.pod" -}}
automountServiceAccountToken: false
{{- /* SVC_* variables come from us alone, never from Services that happen to be named so. */}}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .root.Values.security.userId }}
  runAsUser: {{ int64 . }}
  {{- end }}
  {{- with .root.Values.security.groupId }}
  runAsGroup: {{ int64 . }}
  fsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .settings }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A quantity as a number. */ -}}
{{- define "svc.amount" -}}
{{- $suffix := regexFind "[a-zA-Z]*$" . -}}
{{- $factors := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mulf (trimSuffix $suffix . | float64) (get $factors $suffix) -}}
{{- end -}}

{{- define "svc.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- /* Takes {root, component, whenUnsatisfiable}. */ -}}
{{- define "svc.spread" -}}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "svc.selector" $ | nindent 8 }}
    # Of each rollout by itself, or the pods that are leaving would count.
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end -}}

{{- /* A pause that needs no program in the image; the API server of 1.29 does not know it. Takes {root, seconds}. */ -}}
{{- define "svc.preStop" -}}
{{- if and .seconds (semverCompare ">=1.30-0" .root.Capabilities.KubeVersion.Version) -}}
lifecycle:
  preStop:
    sleep:
      seconds: {{ .seconds }}
{{- end -}}
{{- end -}}

{{- /* Certificate, key and authority, as 0440 in decimal. Takes the Secret's name. */ -}}
{{- define "svc.tlsVolume" -}}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 288
{{- end -}}

{{- /* Takes {path, port}. */ -}}
{{- define "svc.probe" -}}
httpGet:
  path: {{ .path }}
  port: {{ .port }}
  scheme: HTTPS
{{- end -}}
