import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { BatonError, type Rule } from '@baton/sdk';
import { baton } from '../client.ts';
import { AllowedPart } from '../parts/AllowedPart.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import table from '../parts/table.module.css';
import { Values } from '../parts/Values.tsx';
import { meQuery } from '../queries.ts';

const pageSize = 50;
const foundMax = 20;

/** A search in the memory service, and the work rules. */
export function KnowledgePage() {
  useLineKeys();
  return (
    <div className="page">
      <h1>Knowledge</h1>
      <AllowedPart permission="events.read" what="Memory search results">
        <Recall />
      </AllowedPart>
      <AllowedPart permission="rules.read" what="Work rules">
        <Rules />
      </AllowedPart>
    </div>
  );
}

function Recall() {
  const [query, setQuery] = useState('');
  const found = useQuery({
    queryKey: ['knowledge', 'recall', query],
    queryFn: ({ signal }) => baton.context.recall({ query, limit: foundMax }, { signal }),
    enabled: query !== '',
  });
  function onSubmit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    setQuery(String(new FormData(event.currentTarget).get('q')).trim());
  }
  const isDisabled = found.error instanceof BatonError && found.error.code === 'memory_disabled';
  const { entities = [], facts = [], snapshots = [] } = found.data?.pack ?? {};
  const groups = [
    ['Entities', entities],
    ['Facts', facts],
    ['Documents', snapshots],
  ] as const;
  const isEmpty = groups.every(([, items]) => items.length === 0);
  return (
    <section className="card stack" aria-labelledby="recall">
      <h2 id="recall">Memory</h2>
      <form className="row" onSubmit={onSubmit} role="search">
        <label>
          <span className="visually-hidden">Search memory</span>
          <input name="q" type="search" placeholder="invoices, checkout, …" maxLength={500} required />
        </label>
        <button type="submit" disabled={found.isFetching}>
          Search
        </button>
      </form>
      {isDisabled && (
        <p className="soft">
          No memory service is configured. Set <code className="mono">CP_CONTEXT_PROVIDER=http</code> and{' '}
          <code className="mono">CP_CONTEXT_BASE_URL</code>.
        </p>
      )}
      {found.isError && !isDisabled && <ErrorNote error={found.error} onRetry={() => void found.refetch()} />}
      {found.isLoading && <Loading />}
      {found.isSuccess && isEmpty && <p className="soft">No results.</p>}
      {groups.map(
        ([name, items]) =>
          items.length > 0 && (
            <div key={name} className="stack">
              <h3>{name}</h3>
              <ul className="stack">
                {items.slice(0, foundMax).map((item) => (
                  <li key={JSON.stringify(item).slice(0, 500)} className="card">
                    <Values of={item} />
                  </li>
                ))}
              </ul>
            </div>
          ),
      )}
    </section>
  );
}

function Rules() {
  const query = useInfiniteQuery({
    queryKey: ['knowledge', 'rules'],
    queryFn: ({ pageParam, signal }) =>
      baton.rules.list({ limit: pageSize, ...(pageParam && { cursor: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  return (
    <section className="stack" aria-labelledby="rules">
      <h2 id="rules">Work rules</h2>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data?.length === 0 && (
        <p className="soft">
          No work rules. A rule creates work when an event occurs or on a schedule. Create one with{' '}
          <code className="mono">baton api POST /rules</code>.
        </p>
      )}
      {query.data !== undefined && query.data.length > 0 && (
        <ul className={table.lines}>
          {query.data.map((rule) => (
            <OneRule key={rule.id} rule={rule} />
          ))}
        </ul>
      )}
      <ShowMore query={query} />
    </section>
  );
}

function OneRule({ rule }: { rule: Rule }) {
  const queries = useQueryClient();
  const mayWrite = useQuery(meQuery).data?.permissions.includes('rules.write') ?? false;
  const { id, key, description, version, status, trigger, action, updatedAt } = rule;
  const change = useMutation({
    mutationFn: () => (status === 'enabled' ? baton.rules.disable(id) : baton.rules.enable(id)),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['knowledge'] }),
  });
  return (
    <li className={table.line}>
      <div className={table.main}>
        <p>
          {key}{' '}
          <span className="soft">
            version {version} · {status} · updated <Moment at={updatedAt} />
          </span>
        </p>
        <p className="soft">
          {trigger.kind === 'schedule' ? `Every ${trigger.everySeconds} s` : `When ${trigger.type}`}:{' '}
          {action.kind.replaceAll('_', ' ')}
        </p>
        {description !== '' && <p className="text">{description}</p>}
      </div>
      {mayWrite && status !== 'archived' && (
        <button
          type="button"
          disabled={change.isPending}
          aria-label={status === 'enabled' ? `Disable ${key}` : `Enable ${key}`}
          onClick={() => change.mutate()}
        >
          {status === 'enabled' ? 'Disable' : 'Enable'}
        </button>
      )}
      {change.isError && (
        <div className={table.wide}>
          <ErrorNote error={change.error} />
        </div>
      )}
    </li>
  );
}
