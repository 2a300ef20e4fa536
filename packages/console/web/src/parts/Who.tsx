import { useQuery } from '@tanstack/react-query';
import { principalQuery } from '../queries.ts';

/** The name of a person, agent or service; its id if the name is not readable. */
export function Who({ id, nobody = 'None' }: { id: string | null; nobody?: string }) {
  const { data, isError } = useQuery({ ...principalQuery(id ?? ''), enabled: id !== null });
  if (id === null) return <span className="soft">{nobody}</span>;
  if (data === undefined) return <span className="soft mono">{isError ? id.slice(-8) : '…'}</span>;
  return (
    <span title={`${data.displayName} (${data.kind})`}>
      {data.displayName}
      {data.status === 'disabled' && <span className="soft"> (disabled)</span>}
    </span>
  );
}
