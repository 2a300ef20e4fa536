import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { meQuery } from '../queries.ts';
import { Empty } from './Notes.tsx';

/** Shows its children to people with the permission, and the required permission to others. */
export function Allowed({ permission, children }: { permission: string; children: ReactNode }) {
  const { data } = useQuery(meQuery);
  if (data === undefined) return null;
  if (!data.permissions.includes(permission))
    return (
      <Empty title="You don't have access to this page">
        <p>
          You need the permission <code className="mono">{permission}</code>. Contact an administrator.
        </p>
      </Empty>
    );
  return children;
}
