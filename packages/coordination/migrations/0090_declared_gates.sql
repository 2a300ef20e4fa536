-- A gate that a verification asked is the core's, not that of whoever completed the task.
update approvals a
set requested_by_principal_id = t.core_principal_id
from verifications v join tenants t on t.id = v.tenant_id
where v.approval_id = a.id and v.owns_approval and a.status = 'pending';
