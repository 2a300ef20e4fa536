import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Artifact, revealHidden } from '@baton/sdk';
import { bytes } from '../parts/amounts.ts';
import { FormProblem } from '../parts/form-faults.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Values } from '../parts/Values.tsx';
import { Who } from '../parts/Who.tsx';
import { webAddress } from '../run/result-facts.ts';
import { ArtifactContent } from './ArtifactContent.tsx';
import styles from './artifact.module.css';
import { kindOf } from './artifact-kind.ts';
import { downloadBytesMax, downloadContent, readContent, shownBytesMax } from './read-content.ts';

/** An artifact: its name, and on demand its content, of which only the beginning is loaded. */
export function ArtifactItem({ artifact }: { readonly artifact: Artifact }) {
  const { name, type, createdAt, createdByPrincipalId, content, contentState, sizeBytes, mediaType } =
    artifact;
  // Each read of the content is recorded, so the content is loaded only when a person opens it.
  const [isOpen, setOpen] = useState(false);
  const address = webAddress(artifact.uri);
  return (
    <details className={styles.artifact} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span className={styles.name}>{revealHidden(name)}</span>{' '}
        <span className="soft">
          {type}
          {mediaType !== null && ` · ${mediaType.slice(0, 100)}`}
          {sizeBytes !== null && ` · ${bytes(sizeBytes)}`}
        </span>{' '}
        <span className={`soft ${styles.when}`}>
          <Who id={createdByPrincipalId} /> · <Moment at={createdAt} />
        </span>
      </summary>
      {isOpen && (
        <div className="stack">
          {address !== undefined && (
            <p>
              <a href={address} rel="noopener nofollow noreferrer" target="_blank">
                Open on {new URL(address).host}
              </a>
            </p>
          )}
          {artifact.uri !== null && address === undefined && (
            <p className={`mono ${styles.name}`}>{revealHidden(artifact.uri)}</p>
          )}
          {content !== null && <InlineContent content={content} />}
          {contentState === 'stored' && <StoredContent artifact={artifact} />}
          {contentState === 'purged' && <p className="soft">The content was deleted.</p>}
          {contentState === 'none' && content === null && artifact.uri === null && (
            <p className="soft">No content.</p>
          )}
        </div>
      )}
    </details>
  );
}

/** Content that is stored in the record. A single text is shown as prose, anything else as a list of its members. */
function InlineContent({ content }: { readonly content: Record<string, unknown> }) {
  const { text, markdown, ...others } = content;
  const prose = typeof markdown === 'string' ? markdown : text;
  if (typeof prose === 'string' && Object.keys(others).length === 0) return <Prose text={prose} />;
  return <Values of={content} />;
}

/** The stored content of an artifact, and the button that downloads it. */
function StoredContent({ artifact }: { readonly artifact: Artifact }) {
  const { id, name, sizeBytes } = artifact;
  const kind = kindOf(artifact);
  const bytesMax = kind === 'image' ? shownBytesMax.image : shownBytesMax.text;
  // An image can't be shown in part.
  const isTooLarge = kind === 'image' && (sizeBytes ?? 0) > bytesMax;
  const isShown = kind !== 'none' && !isTooLarge;
  const query = useQuery({
    queryKey: ['artifact-content', id],
    queryFn: ({ signal }) => readContent(id, bytesMax, signal),
    enabled: isShown,
    // An artifact never changes, and each read is recorded.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnWindowFocus: false,
  });
  const download = useMutation({
    async mutationFn() {
      if ((sizeBytes ?? 0) > downloadBytesMax)
        throw new FormProblem('The artifact is too large to download in a browser. Use the API.');
      await downloadContent(id, name);
    },
  });
  return (
    <>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {isShown && query.isPending && <Loading />}
      {query.data !== undefined && <ArtifactContent kind={kind} artifact={artifact} content={query.data} />}
      {isTooLarge && <p className="soft">Images of more than {bytes(bytesMax)} are not shown here.</p>}
      {kind === 'none' && <p className="soft">Files of this type are not shown here.</p>}
      <div className="row">
        <button type="button" disabled={download.isPending} onClick={() => download.mutate()}>
          {download.isPending ? 'Downloading …' : 'Download'}
        </button>
        {query.data?.isCut && (
          <span className="soft">
            Only the first {bytes(bytesMax)} of {bytes(sizeBytes ?? 0)} are shown.
          </span>
        )}
      </div>
      {download.isError && <ErrorNote error={download.error} />}
    </>
  );
}
