import { type QueryKey, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { SelectField } from '../parts/Field.tsx';
import { useFault } from '../parts/Form.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import type { Administration } from './admin-secret.ts';
import styles from './administration.module.css';

/** Whether an action may have changed a cached query. An action doesn't change the names of principals. */
export const isChanged = ({ queryKey }: { queryKey: QueryKey }): boolean => queryKey[1] !== 'principal';

/** The display name of an identity principal. */
export function PrincipalName({ admin, id }: { admin: Administration; id: string }) {
  const { data, isError } = useQuery({
    queryKey: ['administration', 'principal', id],
    queryFn: ({ signal }) => admin.identity.principals.get(admin.tenantId, id, { signal }),
    // Names rarely change, and a list shows a hundred of them.
    staleTime: 600_000,
  });
  if (data === undefined) return <span className="mono">{isError ? id : '…'}</span>;
  return <span title={id}>{data.display_name}</span>;
}

/** The largest page size that the identity service accepts. */
const choicesMax = 500;

type Kind = 'human' | 'agent' | 'service_account' | 'workload';

/** A select with the active principals of the identity service, loaded page by page. */
export function PrincipalChoice({
  admin,
  name,
  label,
  kinds,
}: {
  admin: Administration;
  name: string;
  label: string;
  kinds?: readonly Kind[];
}) {
  const query = useInfiniteQuery({
    queryKey: ['administration', 'principals', 'choice'],
    queryFn: ({ pageParam, signal }) =>
      admin.identity.principals.list(
        admin.tenantId,
        { limit: choicesMax, status: 'active', ...(pageParam && { after: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ next_after }) => next_after ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  const offered = query.data?.filter(({ kind }) => kinds === undefined || kinds.includes(kind)) ?? [];
  return (
    <div className="row">
      <SelectField name={name} label={label} required defaultValue="">
        <option value="" disabled>
          {query.isPending ? 'Loading …' : offered.length === 0 ? 'No principals' : 'Select …'}
        </option>
        {offered.map(({ id, display_name, kind }) => (
          <option key={id} value={id}>
            {display_name} ({kind.replaceAll('_', ' ')})
          </option>
        ))}
      </SelectField>
      {query.hasNextPage && (
        <button type="button" onClick={() => void query.fetchNextPage()}>
          Load more
        </button>
      )}
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
    </div>
  );
}

/** The fields of `Reach` by error code. */
export const reachCodes = { unknown_audience: 'audiences', invalid_scope_ceiling: 'scopes' };

/** The audiences of a credential, and its scope ceiling. */
export function Reach({ admin, preferred }: { admin: Administration; preferred: string }) {
  const { data, isError, error, refetch } = useQuery({
    queryKey: ['administration', 'audiences'],
    queryFn: ({ signal }) => admin.identity.audiences.list(admin.tenantId, { signal }),
  });
  const [chosen, setChosen] = useState<readonly string[]>([preferred]);
  if (isError) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={2} />;
  const offered = data.filter(({ status }) => status === 'active');
  const scopes = new Set(
    offered.filter(({ key }) => chosen.includes(key)).flatMap(({ allowed_scopes }) => allowed_scopes),
  );
  return (
    <>
      <Checks name="audiences" legend="Audiences">
        {offered.map(({ key }) => (
          <label key={key}>
            <input
              type="checkbox"
              name="audiences"
              value={key}
              checked={chosen.includes(key)}
              onChange={({ target }) =>
                setChosen(target.checked ? [...chosen, key] : chosen.filter((one) => one !== key))
              }
            />
            <span className="mono">{key}</span>
          </label>
        ))}
      </Checks>
      <Checks name="scopes" legend="Scopes">
        {[...scopes].map((scope) => (
          <label key={scope}>
            <input type="checkbox" name="scopes" value={scope} defaultChecked={!scope.endsWith(':admin')} />
            <span className="mono">{scope}</span>
          </label>
        ))}
      </Checks>
    </>
  );
}

/** Checkboxes that share a name, with the reason if the selection was rejected. */
function Checks({ name, legend, children }: { name: string; legend: string; children: ReactNode }) {
  const { id, message, note } = useFault(name);
  const isRefused = message !== undefined;
  return (
    <fieldset
      className={styles.checks}
      data-refused={isRefused || undefined}
      aria-describedby={isRefused ? id : undefined}
    >
      <legend>{legend}</legend>
      {children}
      {note}
    </fieldset>
  );
}
