import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { meQuery } from '../queries.ts';
import { Empty } from './Notes.tsx';

/** Shows what it holds to those who have the permission; tells the others which one it takes. */
export function Allowed({ permission, children }: { permission: string; children: ReactNode }) {
  const { data } = useQuery(meQuery);
  if (data === undefined) return null;
  if (!data.permissions.includes(permission))
    return (
      <Empty title="You may not see this">
        <p>
          Ask an administrator for the permission <code className="mono">{permission}</code>.
        </p>
      </Empty>
    );
  return children;
}
