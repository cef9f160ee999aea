{{- /*
The webhooks. A namespace or a pod requests injection by the label pep.svc/inject; a namespace that may have less than the
defaults uses another path of the same server. So there are four webhooks of each kind, and at most one of a kind matches a
pod: one changes a pod at its creation, and one judges what came of it, and every change to it while it runs.
Takes {root, caBundle}; without caBundle, cert-manager fills it in.
*/ -}}
{{- define "svc.injector.webhooks" -}}
{{- $mutating := dict "kind" "MutatingWebhookConfiguration" "path" "mutate" "operations" (list "CREATE") "resources" (list "pods") -}}
{{- $validating := dict "kind" "ValidatingWebhookConfiguration" "path" "validate" "operations" (list "CREATE" "UPDATE") "resources" (list "pods" "pods/ephemeralcontainers" "pods/resize") -}}
{{- range $at, $configuration := list $mutating $validating }}
{{- if $at }}
---
{{ end }}
{{- include "svc.injector.configuration" (merge $configuration $) }}
{{- end }}
{{- end -}}

{{- /* Takes {root, caBundle, kind, path, operations, resources}. */ -}}
{{- define "svc.injector.configuration" -}}
{{- $root := .root -}}
{{- $caBundle := .caBundle -}}
{{- $configuration := . -}}
{{- $name := include "svc.injector.name" $root -}}
{{- $excluded := concat (list $root.Release.Namespace "kube-system" "kube-public" "kube-node-lease") $root.Values.injector.excludedNamespaces | uniq -}}
apiVersion: admissionregistration.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ $name }}-{{ $root.Release.Namespace }}
  labels:
    {{- include "svc.labels" (dict "root" $root "component" "injector") | nindent 4 }}
  {{- if not $caBundle }}
  annotations:
    cert-manager.io/inject-ca-from: {{ $root.Release.Namespace }}/{{ $name }}
  {{- end }}
webhooks:
  {{- range $strictness := list (dict "name" "strict" "path" "" "operator" "NotIn") (dict "name" "weaker" "path" "-weaker" "operator" "In") }}
  {{- range $asks := list "namespace" "pod" }}
  - name: {{ $strictness.name }}-{{ $asks }}.pep.svc
    clientConfig:
      service:
        name: {{ $name }}
        namespace: {{ $root.Release.Namespace }}
        path: /{{ $configuration.path }}{{ $strictness.path }}
        port: 8443
      {{- with $caBundle }}
      caBundle: {{ . }}
      {{- end }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: {{ $configuration.operations | toJson }}
        resources: {{ $configuration.resources | toJson }}
        scope: Namespaced
    # No pod starts without the sidecar that it should have, and none loses it.
    failurePolicy: Fail
    {{- if eq $configuration.path "mutate" }}
    # Another webhook may add containers after ours; asked again, ours changes nothing.
    reinvocationPolicy: IfNeeded
    {{- else }}
    # A finalizer or an annotation changes nothing that is guarded, and does not wait for the injector.
    matchConditions:
      - name: changes-what-is-guarded
        expression: >-
          request.operation == "CREATE" || object.spec != oldObject.spec ||
          (has(object.metadata.labels) ? object.metadata.labels : {}) !=
          (has(oldObject.metadata.labels) ? oldObject.metadata.labels : {})
    {{- end }}
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
