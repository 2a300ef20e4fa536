import { type RefObject, useEffect, useState } from 'react';

/** How long a line must stay on the screen before its names are looked up. In a busy journal, most lines don't. */
const restMs = 300;

/** One observer for all lines: a journal shows up to 2,000. */
const lines = new Map<Element, (isIntersecting: boolean) => void>();
let observer: IntersectionObserver | undefined;

function observe(element: Element, report: (isIntersecting: boolean) => void): () => void {
  observer ??= new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) lines.get(target)?.(isIntersecting);
  });
  lines.set(element, report);
  observer.observe(element);
  return () => {
    lines.delete(element);
    observer?.unobserve(element);
  };
}

/** Whether an element has been on the screen for `restMs`. Never changes back to false. */
export function useInSight(element: RefObject<Element | null>): boolean {
  const [isInSight, setInSight] = useState(false);
  useEffect(() => {
    if (isInSight || element.current === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = observe(element.current, (isIntersecting) => {
      clearTimeout(timer);
      timer = isIntersecting ? setTimeout(() => setInSight(true), restMs) : undefined;
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [element, isInSight]);
  return isInSight;
}
