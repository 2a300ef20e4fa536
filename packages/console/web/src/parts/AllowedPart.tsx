import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { meQuery } from '../queries.ts';

/**
 * Part of a page, or to whom it would be shown.
 * @param what the part, as it stands at the beginning of a sentence about several things
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
      {what} are shown to those with the permission <code className="mono">{permission}</code>.
    </p>
  );
}
