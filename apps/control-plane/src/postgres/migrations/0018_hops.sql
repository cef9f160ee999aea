-- A hop that is decided and taken at once: its answer brings the token that takes the place of the spent one.
alter table spend add column sibling_jti_hash bytea;
alter table spend add constraint only_an_exchange_has_a_sibling check (sibling_jti_hash is null or kind = 'exchange');

create type hop_spend_insert as (
  jti_hash bytea, action_id uuid, session_id uuid, prover text, proof_jti_hash bytea, spent_at timestamptz,
  sibling_jti_hash bytea
);
