import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import type { Rule } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { Values } from '../parts/Values.tsx';
import lines from '../parts/values.module.css';
import { meQuery } from '../queries.ts';

const pageSize = 50;
const foundMax = 20;

/** What memory knows, by a search, and the rules by which work follows from what happens. */
export function KnowledgePage() {
  const { data } = useQuery(meQuery);
  if (data === undefined) return null;
  const mayRecall = data.permissions.includes('events.read');
  const mayReadRules = data.permissions.includes('rules.read');
  return (
    <div className="page">
      <h1>Knowledge</h1>
      {mayRecall && <Recall />}
      {mayReadRules && <Rules />}
      {!mayRecall && !mayReadRules && (
        <Empty title="You may not see this">
          <p>
            Ask an administrator for the permission <code className="mono">events.read</code> or{' '}
            <code className="mono">rules.read</code>.
          </p>
        </Empty>
      )}
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
  const { entities = [], facts = [], snapshots = [] } = found.data?.pack ?? {};
  const groups = [
    ['Things', entities],
    ['Facts', facts],
    ['Documents', snapshots],
  ] as const;
  const isEmpty = groups.every(([, items]) => items.length === 0);
  return (
    <section className="card stack" aria-labelledby="recall">
      <h2 id="recall">What memory knows</h2>
      <form className="row" onSubmit={onSubmit} role="search">
        <label>
          <span className="visually-hidden">Search what memory knows</span>
          <input name="q" type="search" placeholder="invoices, checkout, …" maxLength={500} required />
        </label>
        <button type="submit" disabled={found.isFetching}>
          Search
        </button>
      </form>
      {found.isError && (
        <>
          <ErrorNote error={found.error} />
          <p className="soft">
            Knowledge comes from a memory service: <code className="mono">CP_CONTEXT_PROVIDER=http</code> and{' '}
            <code className="mono">CP_CONTEXT_BASE_URL</code> connect one.
          </p>
        </>
      )}
      {found.isLoading && <Loading />}
      {found.isSuccess && isEmpty && <p className="soft">Memory knows nothing of it.</p>}
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
    <section className="card stack" aria-labelledby="rules">
      <h2 id="rules">Work rules</h2>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading />}
      {query.data?.length === 0 && (
        <p className="soft">
          There is none. A rule makes work out of what happens;{' '}
          <code className="mono">npx baton api POST /rules</code> makes one.
        </p>
      )}
      <ul className={lines.list}>
        {query.data?.map((rule) => (
          <OneRule key={rule.id} rule={rule} />
        ))}
      </ul>
      {query.hasNextPage && (
        <button type="button" onClick={() => void query.fetchNextPage()}>
          Show more
        </button>
      )}
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
    <li className={lines.line}>
      <span>
        {key} <span className="soft">version {version}</span>
        {description !== '' && <span className="soft text"> {description}</span>}
      </span>
      <span className="soft">
        when {trigger.kind === 'schedule' ? `every ${trigger.everySeconds} s` : trigger.type}:{' '}
        {action.kind.replaceAll('_', ' ')}
      </span>
      <span className="row">
        {status}
        {mayWrite && status !== 'archived' && (
          <button type="button" disabled={change.isPending} onClick={() => change.mutate()}>
            {status === 'enabled' ? `Disable ${key}` : `Enable ${key}`}
          </button>
        )}
        {change.isError && <ErrorNote error={change.error} />}
      </span>
      <span className="soft">
        <Moment at={updatedAt} />
      </span>
    </li>
  );
}
