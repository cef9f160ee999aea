-- The rows that one statement of the hot path inserts, in the order in which their values are handed over: the server reads
-- them faster than JSON. A type is never changed, since processes of two releases may use it at once: a release that hands
-- over anything else makes a type of its own.

create type decision_insert as (
  action_id uuid, record_version int, session_id uuid, stage text, hop int, chain text[], acting_agent text, target text,
  target_kind text, data_class text, decision text, deny_reason text, recoverable boolean, enforced boolean,
  privileged boolean, taint text, taint_source text, policy_version int, guarantee_level text, parent_action_id uuid,
  decided_at timestamptz, present jsonb, session_epoch uuid, denial_epoch uuid
);

create type exchange_insert as (
  jti_hash bytea, action_id uuid, session_id uuid, prover text, proof_jti_hash bytea, spent_at timestamptz,
  session_epoch uuid, denial_epoch uuid
);
