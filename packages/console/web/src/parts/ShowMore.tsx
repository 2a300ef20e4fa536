import type { UseInfiniteQueryResult } from '@tanstack/react-query';

/** A button that loads the next page of a list; hidden if the whole list is shown. */
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
