import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { permissionsFor } from '../grants/granted-access.ts';
import { presets } from '../grants/presets.ts';
import { applyRole, listTenantsBehind, type PermissionsOfRole } from '../iam-bindings/role-bindings.ts';

const tenantsMax = 20;
/**
 * The interval after a pass without changes. A previous release that still runs may create bindings with its own list
 * until it is replaced.
 */
const pauseMs = 600_000;

/** The permissions of the built-in roles in this release. */
const released: readonly PermissionsOfRole[] = presets.map(({ key, permissions }) => ({
  key,
  people: permissionsFor('human', permissions),
  others: permissionsFor('agent', permissions),
}));

/**
 * Gives the bindings that name a built-in role the permissions that the role has in this release: when the worker
 * starts, and every ten minutes. See docs/reference/access.md#access-roles.
 */
export function followPresets({ pool, command }: JobTools<Context>): Job {
  const name = 'access-roles';
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  return {
    name,
    batchMax: tenantsMax,
    async run() {
      if (performance.now() - checkedAtMs < pauseMs) return 0;
      const behind = await listTenantsBehind(pool, released, tenantsMax);
      for (const tenantId of behind) await command(name, tenantId, updatePresetBindings);
      if (behind.length < tenantsMax) checkedAtMs = performance.now();
      return behind.length;
    },
  };
}

async function updatePresetBindings(context: Context): Promise<void> {
  for (const role of released) await applyRole(context, role);
}
