import type { UseInfiniteQueryResult } from '@tanstack/react-query';

/** Loads the next page of a list; nothing if the whole list is shown. */
export function ShowMore({
  query: { hasNextPage, isFetchingNextPage, fetchNextPage },
}: {
  query: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;
}) {
  if (!hasNextPage) return null;
  return (
    <div className="row">
      <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show more
      </button>
    </div>
  );
}
