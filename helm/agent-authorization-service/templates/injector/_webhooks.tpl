{{- /*
The webhooks. A namespace or a pod requests injection by the label pep.svc/inject; a namespace that may have less than the
defaults uses another path of the same server. So there are four webhooks, and at most one matches a pod.
Takes {root, caBundle}; without caBundle, cert-manager fills it in.
*/ -}}
{{- define "svc.injector.webhooks" -}}
{{- $root := .root -}}
{{- $caBundle := .caBundle -}}
{{- $name := include "svc.injector.name" $root -}}
{{- $excluded := concat (list $root.Release.Namespace "kube-system" "kube-public" "kube-node-lease") $root.Values.injector.excludedNamespaces | uniq -}}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: {{ $name }}-{{ $root.Release.Namespace }}
  labels:
    {{- include "svc.labels" (dict "root" $root "component" "injector") | nindent 4 }}
  {{- if not $caBundle }}
  annotations:
    cert-manager.io/inject-ca-from: {{ $root.Release.Namespace }}/{{ $name }}
  {{- end }}
webhooks:
  {{- range $strictness := list (dict "name" "strict" "path" "/mutate" "operator" "NotIn") (dict "name" "weaker" "path" "/mutate-weaker" "operator" "In") }}
  {{- range $asks := list "namespace" "pod" }}
  - name: {{ $strictness.name }}-{{ $asks }}.pep.svc
    clientConfig:
      service:
        name: {{ $name }}
        namespace: {{ $root.Release.Namespace }}
        path: {{ $strictness.path }}
        port: 8443
      {{- with $caBundle }}
      caBundle: {{ . }}
      {{- end }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [pods]
        scope: Namespaced
    # No pod starts without the sidecar that it should have.
    failurePolicy: Fail
    # Another webhook may add containers after ours; asked again, ours changes nothing.
    reinvocationPolicy: IfNeeded
    matchPolicy: Equivalent
    sideEffects: None
    admissionReviewVersions: [v1]
    timeoutSeconds: {{ $root.Values.injector.timeoutSeconds }}
    namespaceSelector:
      matchExpressions:
        # Its own namespace among them: it could never start again, waiting for itself.
        - key: kubernetes.io/metadata.name
          operator: NotIn
          values:
            {{- toYaml $excluded | nindent 12 }}
        - key: pep.svc/allow-weaker
          operator: {{ $strictness.operator }}
          values: ["true"]
        - key: pep.svc/inject
          operator: {{ ternary "In" "NotIn" (eq $asks "namespace") }}
          values: [enabled]
    {{- if eq $asks "pod" }}
    objectSelector:
      matchLabels:
        pep.svc/inject: enabled
    {{- end }}
  {{- end }}
  {{- end }}
{{- end -}}
