#pragma once
// A list whose copies share what they have in common. Each change of a job's state makes a new
// version of lists with all of its nodes, and most differ from the version before in one entry.

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "sim/port/check.h"
#include "sim/port/time.h"

namespace hooke::model {

/// What was once computed of a piece of a list, for as long as that piece stays as it is.
struct PieceFigures {
  std::optional<sim::WallTime> oldest;  ///< of its times
  /// The hash of all that comes before the piece, and the hash with it.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> hash;
};

/// Entries in pieces of kPieceSize, the last of which may have fewer. Copies share pieces; a piece
/// that is shared is copied before one of its entries is changed. Counted without atomics: a state
/// stays in one thread. What is read is const: only the members below change a list.
template <class T>
class SharedList {
 public:
  static constexpr std::size_t kPieceSize = 32;
  struct Piece {
    std::vector<T> entries;
    mutable PieceFigures figures;
  };

  class const_iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    const_iterator() = default;
    const_iterator(const SharedList& list, std::size_t index) : list_(&list), index_(index) {
      seek();
    }
    reference operator*() const { return *at_; }
    pointer operator->() const { return at_; }
    reference operator[](difference_type by) const { return *(*this + by); }
    const_iterator& operator++() {
      ++at_;
      if (++index_ % kPieceSize == 0) seek();
      return *this;
    }
    const_iterator& operator--() { return *this += -1; }
    const_iterator operator++(int) { return std::exchange(*this, *this + 1); }
    const_iterator operator--(int) { return std::exchange(*this, *this - 1); }
    const_iterator& operator+=(difference_type by) {
      index_ = static_cast<std::size_t>(static_cast<difference_type>(index_) + by);
      seek();
      return *this;
    }
    const_iterator& operator-=(difference_type by) { return *this += -by; }
    friend const_iterator operator+(const_iterator it, difference_type by) { return it += by; }
    friend const_iterator operator+(difference_type by, const_iterator it) { return it += by; }
    friend const_iterator operator-(const_iterator it, difference_type by) { return it -= by; }
    friend difference_type operator-(const const_iterator& a, const const_iterator& b) {
      return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
    }
    friend bool operator==(const const_iterator& a, const const_iterator& b) {
      return a.index_ == b.index_;
    }
    friend auto operator<=>(const const_iterator& a, const const_iterator& b) {
      return a.index_ <=> b.index_;
    }

   private:
    void seek() { at_ = index_ < list_->size() ? &(*list_)[index_] : nullptr; }

    const SharedList* list_ = nullptr;
    std::size_t index_ = 0;
    const T* at_ = nullptr;
  };
  using iterator = const_iterator;
  using value_type = T;
  using const_reference = const T&;
  using size_type = std::size_t;

  SharedList() = default;
  SharedList(std::initializer_list<T> entries) : SharedList(std::vector<T>(entries)) {}
  explicit SharedList(std::vector<T> entries) { end_with(0, std::move(entries)); }
  SharedList& operator=(std::vector<T> entries) {
    end_with(0, std::move(entries));
    return *this;
  }
  SharedList& operator=(std::initializer_list<T> entries) {
    return *this = std::vector<T>(entries);
  }

  [[nodiscard]] std::size_t size() const {
    return empty() ? 0 : (pieces_.size() - 1) * kPieceSize + pieces_.back()->entries.size();
  }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  const T& operator[](std::size_t index) const {
    return pieces_[index / kPieceSize]->entries[index % kPieceSize];
  }
  [[nodiscard]] const T& at(std::size_t index) const {
    HOOKE_CHECK(index < size(), "an entry of a list is in it");
    return (*this)[index];
  }
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  [[nodiscard]] const T& back() const { return pieces_.back()->entries.back(); }
  [[nodiscard]] const_iterator begin() const { return {*this, 0}; }
  [[nodiscard]] const_iterator end() const { return {*this, size()}; }
  [[nodiscard]] std::vector<T> entries() const { return std::vector<T>(begin(), end()); }
  /// The first entry that `fits`; null: none does.
  template <class Fits>
  [[nodiscard]] const T* find(Fits fits) const {
    for (const auto& piece : pieces_) {
      for (const T& entry : piece->entries) {
        if (fits(entry)) return &entry;
      }
    }
    return nullptr;
  }
  /// Calls `look(piece)` for each in order.
  template <class Look>
  void each_piece(Look look) const {
    for (const auto& piece : pieces_) look(static_cast<const Piece&>(*piece));
  }

  /// An entry, to be changed before the list is copied.
  T& edit(std::size_t index) {
    HOOKE_CHECK(index < size(), "an entry that is changed is in its list");
    return own(index / kPieceSize).entries[index % kPieceSize];
  }
  /// The first entry that `fits`, to be changed before the list is copied; null: none does.
  template <class Fits>
  T* find_to_edit(Fits fits) {
    const std::size_t piece = piece_with(fits);
    if (piece == pieces_.size()) return nullptr;
    const std::vector<T>& all = pieces_[piece]->entries;
    const auto place = std::find_if(all.begin(), all.end(), fits) - all.begin();
    return &own(piece).entries[static_cast<std::size_t>(place)];
  }
  void push_back(T entry) {
    if (size() % kPieceSize == 0) pieces_.push_back(boost::make_local_shared<Piece>());
    own(pieces_.size() - 1).entries.push_back(std::move(entry));
  }
  /// Gives `by` all entries, and takes what it leaves of them.
  template <class By>
  void change(By by) {
    change_from(0, by);
  }
  /// Takes out the first entry that `fits`; false: none does.
  template <class Fits>
  bool erase_first(Fits fits) {
    const std::size_t piece = piece_with(fits);
    if (piece == pieces_.size()) return false;
    change_from(piece, [&](std::vector<T>& rest) {
      rest.erase(std::find_if(rest.begin(), rest.end(), fits));
    });
    return true;
  }
  template <class Fits>
  void erase_all(Fits fits) {
    const std::size_t piece = piece_with(fits);
    if (piece == pieces_.size()) return;
    change_from(piece, [&](std::vector<T>& rest) { std::erase_if(rest, fits); });
  }
  void clear() { *this = SharedList(); }

  /// Entry by entry; pieces that are shared are not looked into.
  template <class Same>
  [[nodiscard]] bool equals(const SharedList& other, Same same) const {
    if (size() != other.size()) return false;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i] == other.pieces_[i]) continue;
      const std::vector<T>& mine = pieces_[i]->entries;
      if (!std::equal(mine.begin(), mine.end(), other.pieces_[i]->entries.begin(), same))
        return false;
    }
    return true;
  }
  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.equals(b, [](const T& one, const T& other) { return one == other; });
  }

 private:
  using PieceRef = boost::local_shared_ptr<Piece>;

  Piece& own(std::size_t number) {
    PieceRef& piece = pieces_[number];
    if (piece.local_use_count() > 1) {
      auto copy = boost::make_local_shared<Piece>();
      const std::vector<T>& entries = piece->entries;
      copy->entries.reserve(std::min(entries.size() + 1, kPieceSize));
      copy->entries.insert(copy->entries.end(), entries.begin(), entries.end());
      piece = std::move(copy);
    }
    piece->figures = {};
    return *piece;
  }
  /// The number of the first piece with an entry that `fits`, or how many pieces there are.
  template <class Fits>
  [[nodiscard]] std::size_t piece_with(Fits& fits) const {
    const auto found = std::find_if(pieces_.begin(), pieces_.end(), [&](const PieceRef& piece) {
      return std::any_of(piece->entries.begin(), piece->entries.end(), fits);
    });
    return static_cast<std::size_t>(found - pieces_.begin());
  }
  /// Gives `by` the entries from a piece on.
  template <class By>
  void change_from(std::size_t piece, By by) {
    std::vector<T> rest(begin() + static_cast<std::ptrdiff_t>(piece * kPieceSize), end());
    by(rest);
    end_with(piece, std::move(rest));
  }
  /// From that piece on there are these.
  void end_with(std::size_t piece, std::vector<T> entries) {
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(piece), pieces_.end());
    for (std::size_t from = 0; from < entries.size(); from += kPieceSize) {
      const auto begin =
          std::make_move_iterator(entries.begin()) + static_cast<std::ptrdiff_t>(from);
      const std::size_t count = std::min(kPieceSize, entries.size() - from);
      pieces_.push_back(boost::make_local_shared<Piece>());
      pieces_.back()->entries.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    }
  }

  boost::container::small_vector<PieceRef, 1> pieces_;
};

}  // namespace hooke::model
