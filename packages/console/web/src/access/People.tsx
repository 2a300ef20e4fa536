import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type JoinedPerson, listJoinedPeople } from '@baton/sdk/people';
import { useAdministration } from '../administration/admin-secret.ts';
import { Line } from '../administration/Section.tsx';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { ShowMore } from '../parts/ShowMore.tsx';
import table from '../parts/table.module.css';
import { countPermissions } from './access-queries.ts';
import { type PeopleSearch, stateNames } from './people-search.ts';

/** Everybody in both services, page by page, with both records under one name. */
export function People({ search }: { search: PeopleSearch }) {
  const { kind, state, role, q } = search;
  const administration = useAdministration();
  const filter = {
    ...(kind !== undefined && { kind }),
    ...(state !== undefined && { state }),
    ...(role !== undefined && { accessRole: role }),
    ...(q !== undefined && { q }),
  };
  const query = useInfiniteQuery({
    // The query keys are below `administration`, whose responses are removed when it is locked.
    queryKey: ['administration', 'people', administration !== undefined, filter],
    queryFn: ({ pageParam, signal }) =>
      listJoinedPeople(
        { baton, administration },
        { ...filter, ...(pageParam !== '' && { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={5} />}
      {query.data?.length === 0 && (
        <p className="soft">
          {query.hasNextPage
            ? 'Nobody on these pages matches the filter.'
            : isFiltered
              ? 'Nobody matches this filter.'
              : 'Nobody yet.'}
        </p>
      )}
      {query.data !== undefined && query.data.length > 0 && (
        <ul className={table.lines}>
          {query.data.map((person) => (
            <PersonLine key={person.id} person={person} />
          ))}
        </ul>
      )}
      <ShowMore query={query} />
    </>
  );
}

function PersonLine({ person }: { person: JoinedPerson }) {
  const { id, displayName, kind, email, lastUsedAt, state, reason } = person;
  const facts = [
    <>
      {kind === 'human' ? 'person' : kind} · {roleText(person)}
      {email !== null && ` · ${email}`}
    </>,
    <>
      {reason === '' ? stateNames[state] : reason}
      {lastUsedAt !== null && (
        <>
          {' '}
          · last used <Moment at={lastUsedAt} />
        </>
      )}
    </>,
  ];
  return (
    <Line
      title={
        <Link to="/people/$id" params={{ id }}>
          {displayName}
        </Link>
      }
      isOff={state === 'disabled'}
      facts={facts}
    />
  );
}

/** The access of somebody in a few words. */
export function roleText({ accessRole, permissions }: JoinedPerson): string {
  if (accessRole !== null) return accessRole;
  return permissions.length === 0 ? 'no role' : `${countPermissions(permissions)} without a role`;
}
