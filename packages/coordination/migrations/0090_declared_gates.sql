-- A gate that a declaration requests is the core's, not that of whoever caused the request and could cancel it.

-- Of a verification: whoever completed the task had requested it.
update approvals a
set requested_by_principal_id = t.core_principal_id
from verifications v join tenants t on t.id = v.tenant_id
where v.approval_id = a.id and v.owns_approval and a.status = 'pending';

-- Of a rule, or of the type of another task: it was written in the transaction that made its task, and by the same principal.
update approvals a
set requested_by_principal_id = t.core_principal_id
from tasks made join tenants t on t.id = made.tenant_id
where made.id = a.task_id and a.gate and a.status = 'pending' and a.created_at = made.created_at
  and a.requested_by_principal_id = made.created_by;

-- Of a process: its state names the approvals of its votes.
update approvals a
set requested_by_principal_id = t.core_principal_id
from process_instances i join tenants t on t.id = i.tenant_id
  cross join lateral jsonb_path_query(i.state, '$.nodes.*.ballots[*].approvalId') as asked (id)
where i.status in ('running', 'suspended') and a.id = (asked.id #>> '{}')::uuid and a.tenant_id = i.tenant_id
  and a.status = 'pending';
