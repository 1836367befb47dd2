/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for what malloc gives out, before they are used. */
#ifndef HONE_BASE_OS_HEAP_H
#define HONE_BASE_OS_HEAP_H

/* Asks for the pages by which the heap has grown since it ended at `upto` (NULL at first), and
 * returns where it ends. For work that takes many small blocks and keeps them: called now and then,
 * most pages come some hundreds at a time instead of by a fault each. From the thread that takes
 * the blocks; where the system cannot, it does nothing. */
void *os_warm_heap(void *upto);

#endif
