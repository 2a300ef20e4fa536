import type { IamBindingRow } from '../iam-bindings/iam-binding.ts';

/** The role that all bindings of a principal name, and the permissions that they have together. */
export function accessOf(bindings: readonly Pick<IamBindingRow, 'access_role' | 'permissions'>[]): {
  accessRole: string | null;
  permissions: string[];
} {
  const [role = null, ...others] = new Set(bindings.map(({ access_role: key }) => key));
  const permissions = [...new Set(bindings.flatMap(({ permissions: names }) => names))].sort();
  return { accessRole: others.length === 0 ? role : null, permissions };
}
