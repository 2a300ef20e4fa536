import { useQueryClient } from '@tanstack/react-query';
import type { Administration } from '../administration/admin-secret.ts';
import { Create, type Values } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Field, SelectField } from '../parts/Field.tsx';
import { RoleChoice, roleCodes } from './RoleChoice.tsx';

/** Creates an agent or a program in both services, with a role. */
export function NewAgent({ administration }: { administration: Administration }) {
  const { identity, tenantId } = administration;
  const queries = useQueryClient();
  async function create(values: Values, idempotencyKey: string) {
    const kind = values.text('kind') === 'workload' ? 'workload' : 'agent';
    const displayName = values.text('name');
    const { id } = await identity.principals.create(tenantId, { kind, displayName }, { idempotencyKey });
    await admit(administration, {
      iamPrincipalId: id,
      kind: kind === 'workload' ? 'service' : kind,
      displayName,
      accessRole: values.text('role'),
      idempotencyKey,
    });
    void queries.invalidateQueries({ queryKey: ['principals'] });
  }
  return (
    <Create
      title="New agent or program"
      make={create}
      fields={{ displayName: 'name', accessRole: 'role' }}
      codes={roleCodes}
    >
      <Field name="name" label="Name" required maxLength={200} />
      <SelectField name="kind" label="Kind" defaultValue="agent">
        <option value="agent">agent</option>
        <option value="workload">program</option>
      </SelectField>
      <RoleChoice label="Role" given="member" isExplained />
    </Create>
  );
}

interface Admission {
  readonly iamPrincipalId: string;
  readonly kind: 'human' | 'agent' | 'service';
  readonly displayName: string;
  readonly accessRole: string;
  readonly idempotencyKey: string;
}

/** Gives a principal in identity a principal here, with a role. */
export async function admit(
  { issuer, tenantId }: Administration,
  { iamPrincipalId, kind, displayName, accessRole, idempotencyKey }: Admission,
): Promise<string> {
  const { id } = await baton.principals.create({ kind, displayName }, { idempotencyKey });
  await baton.principals.createIamBinding(id, { issuer, iamTenantId: tenantId, iamPrincipalId, accessRole });
  return id;
}
