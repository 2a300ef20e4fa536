import { sql } from '@baton/kernel/sql';
import type { SecretName } from './secret-store.ts';

export function insertLeftover({ tenantId, folder, name }: SecretName, dueInSeconds: number) {
  return sql`
    insert into secret_leftovers (tenant_id, folder, name, due_at)
    values (${tenantId}, ${folder}, ${name}, clock_timestamp() + make_interval(secs => ${dueInSeconds}))
    on conflict (tenant_id, folder, name) do nothing`;
}

/** Changes no row where it is due: the worker may be deleting the secret. */
export function deleteLeftoverInTime({ tenantId, folder, name }: SecretName) {
  return sql`
    delete from secret_leftovers
    where tenant_id = ${tenantId} and folder = ${folder} and name = ${name} and due_at > clock_timestamp()`;
}

export function deleteLeftover({ tenantId, folder, name }: SecretName) {
  return sql`
    delete from secret_leftovers where tenant_id = ${tenantId} and folder = ${folder} and name = ${name}`;
}

export interface LeftoverRow {
  tenant_id: string;
  folder: string;
  name: string;
  due_at: string;
}

export function findDueLeftovers(after: readonly [at: string, name: string], rowsMax: number) {
  const [at, name] = after;
  return sql<LeftoverRow>`
    select tenant_id, folder, name, due_at from secret_leftovers
    where due_at <= clock_timestamp() and (due_at, name) > (${at}, ${name})
    order by due_at, name
    limit ${rowsMax}`;
}
