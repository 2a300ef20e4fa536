import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { meQuery } from '../queries.ts';

/**
 * A part of a page, or the permission that it requires.
 * @param what the part, as the plural subject of a sentence
 */
export function AllowedPart({
  permission,
  what,
  children,
}: {
  permission: string;
  what: string;
  children: ReactNode;
}) {
  const { data } = useQuery(meQuery);
  if (data === undefined) return null;
  if (data.permissions.includes(permission)) return children;
  return (
    <p className="soft">
      {what} require the permission <code className="mono">{permission}</code>.
    </p>
  );
}
