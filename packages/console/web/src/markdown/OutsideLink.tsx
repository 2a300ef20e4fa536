import type { ReactNode } from 'react';
import { noteOfLink } from './links.ts';

interface OutsideLinkProps {
  readonly url: URL;
  readonly title?: string;
  readonly isImage?: boolean;
  readonly text: string;
  /** What is shown instead of the text, with its formatting. */
  readonly inside?: ReactNode;
}

/** A link to another host, which is shown unless the text already is the address. */
export function OutsideLink({ url, title = '', isImage = false, text, inside = text }: OutsideLinkProps) {
  const note = [text === '' ? undefined : noteOfLink(url, text), title === '' ? undefined : `“${title}”`]
    .filter((part) => part !== undefined)
    .join(', ');
  return (
    <>
      {isImage && <span className="soft">Image: </span>}
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
        {text === '' ? url.href : inside}
      </a>
      {note !== '' && <span className="soft"> ({note})</span>}
    </>
  );
}
