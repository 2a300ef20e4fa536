import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { SelectField } from '../parts/Field.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { Allows } from './Allows.tsx';
import { accessRolesQuery, missingOf } from './access-queries.ts';

interface RoleChoiceProps {
  readonly label: string;
  /** The selected role; null for none, absent for the first role that this person may give. */
  readonly given?: string | null;
  /** Whether the permissions of the role are listed below. */
  readonly isExplained?: boolean;
}

/** The field of a `RoleChoice` by error code. */
export const roleCodes = {
  permission_escalation: 'role',
  permissions_not_allowed_for_kind: 'role',
  visibility_escalation: 'role',
};

/** A select named `role` with the access roles. Nobody can give a permission that they don't have. */
export function RoleChoice({ label, given, isExplained = false }: RoleChoiceProps) {
  const mine = useQuery(meQuery).data?.permissions ?? [];
  const roles = useQuery(accessRolesQuery);
  const [chosen, setChosen] = useState<string>();
  if (roles.isError) return <ErrorNote error={roles.error} onRetry={() => void roles.refetch()} />;
  const all = roles.data ?? [];
  const isGiven = ({ permissions }: { permissions: readonly string[] }) =>
    missingOf(permissions, mine).length === 0;
  const first = given === undefined ? all.find(isGiven)?.key : given;
  const key = chosen ?? first ?? '';
  const role = all.find((one) => one.key === key);
  return (
    <>
      <SelectField
        name="role"
        label={label}
        required
        value={key}
        onChange={({ target }) => setChosen(target.value)}
      >
        {role === undefined && (
          <option value="" disabled>
            {roles.isPending ? 'Loading …' : 'Select …'}
          </option>
        )}
        {all.map((one) => (
          <option key={one.key} value={one.key} disabled={!isGiven(one) && one.key !== given}>
            {one.name}
            {!isGiven(one) && ' (exceeds your permissions)'}
          </option>
        ))}
      </SelectField>
      {role !== undefined && role.description !== '' && <p className="soft">{role.description}</p>}
      {isExplained && role !== undefined && (
        <details>
          <summary>What {role.name} allows</summary>
          <Allows texts={role.allows} />
        </details>
      )}
    </>
  );
}
