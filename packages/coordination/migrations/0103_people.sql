-- People are found by their ids at identity, to join both services' lists.
create index iam_bindings_of_identity on iam_bindings (tenant_id, iam_principal_id);
